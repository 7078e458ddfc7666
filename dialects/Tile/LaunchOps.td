//===- LaunchOps.td - how an entry's kernels are launched -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TILE_LAUNCH_OPS
#define TILE_LAUNCH_OPS

include "dialects/Tile/TileBase.td"
include "mlir/IR/SymbolInterfaces.td"

//===----------------------------------------------------------------------===//
// Sizes that a launch decides
//===----------------------------------------------------------------------===//

def Tile_ExtentBase : Tile_Enum<"ExtentBase", "the unit of an extent", [
  I32EnumAttrCase<"Number", 0, "number">, I32EnumAttrCase<"Dimension", 1, "dim">,
  I32EnumAttrCase<"Segments", 2, "segments">, I32EnumAttrCase<"Splits", 3, "splits">,
  I32EnumAttrCase<"Parts", 4, "parts">]>;

def Tile_ExtentAttr : AttrDef<Tile_Dialect, "Extent"> {
  let mnemonic = "extent";
  let summary = "a size that a launch decides";
  let description = [{
    `times * ceildiv(base + plus, divisor)`. The base is the size of a dimension of one of the
    caller's tensors, a choice of the launch, or nothing. An extent is written in the shortest form:

    ```
    64                             a number
    dim(0, 1)                      dimension 1 of tensor 0
    2 * (segments - 1)             a choice
    ceildiv(dim(0, 1) + 63, 64)
    ```
  }];
  let parameters = (ins "ExtentBase":$base, "int64_t":$tensor, "int64_t":$dimension,
                        "int64_t":$plus, "int64_t":$divisor, "int64_t":$times);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ExtentAttr number(::mlir::MLIRContext *context, int64_t number) {
      return get(context, ExtentBase::Number, 0, 0, number, 1, 1);
    }
    static ExtentAttr dimensionOf(::mlir::MLIRContext *context, int64_t tensor, int64_t dimension) {
      return get(context, ExtentBase::Dimension, tensor, dimension, 0, 1, 1);
    }
    /// `times * (choice + plus)`.
    static ExtentAttr choice(::mlir::MLIRContext *context, ExtentBase choice, int64_t plus = 0,
                             int64_t times = 1) {
      return get(context, choice, 0, 0, plus, 1, times);
    }
    bool isNumber() const { return getBase() == ExtentBase::Number; }
    /// The size of a dimension as it is.
    bool isDimension() const {
      return getBase() == ExtentBase::Dimension && !getPlus() && getDivisor() == 1 &&
             getTimes() == 1;
    }
    /// Its value where what it is counted in is `base`; never less than 0.
    int64_t valueOf(int64_t base) const {
      int64_t sum = getPlus() + base;
      return sum <= 0 ? 0 : getTimes() * ((sum + getDivisor() - 1) / getDivisor());
    }
    bool isChoice() const { return getBase() > ExtentBase::Dimension; }
  }];
}

def Tile_ExtentArrayAttr : TypedArrayAttrBase<Tile_ExtentAttr, "a list of extents">;

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

def Tile_EntryOp : Tile_Op<"entry",
    [SingleBlock, NoTerminator, HasParent<"::mlir::ModuleOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "how the kernels of an entry are launched";
  let description = [{
    Stands beside the kernels down to the LLVM dialect, and has all that a launcher needs to know of
    them:

    - workspaces, which the launcher allocates;
    - stages, which run one after another in this order;
    - choices, numbers that the launcher finds for each call.

    `tensors` counts the caller's tensors. The first `inputs` of them are arguments, the others
    results.

    ```mlir
    tile.entry @linear tensors 4 inputs 3 {
      tile.workspace @segment_states : f32 [2 * (segments - 1), dim(0, 0), dim(1, 2), 64, 64]
      tile.stage @linear__prefix role segment_sums
        programs [2 * (segments - 1), dim(1, 0), dim(1, 2)] uses [@segment_states]
      tile.stage @linear programs [segments, dim(0, 0), dim(0, 2)] uses [@segment_states]
      tile.choose segments of dim(0, 1) {block = 64 : i64, min_positions = 0 : i64, multiple = 64 : i64,
        prefix_cost_percent = 40 : i64, subsegments = 2 : i64}
    }
    ```

    C1: there is a stage, and no two ops of one kind have one name.
    C2: a stage names a kernel of the module and workspaces of the entry.
    C3: extents name tensors of the caller and choices that are made here, and choices none.
    C4: numbers are in the ranges that a launcher can compute with. Workspaces have at most 2^40
        elements, without the factors that calls decide.
    C5: a kernel of the tile dialect takes the caller's tensors, then the stage's workspaces, of the
        same types.
    C6: it counts its programs as the stage does.
    C7: a stage that runs before a `main` stage has one after it, and a stage that runs after one
        has one before it. At most one `main` stage has programs of segments.
  }];
  let arguments = (ins SymbolNameAttr:$entry, I64Attr:$tensors, I64Attr:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$entry `tensors` $tensors `inputs` $inputs attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    static ::llvm::StringRef getDefaultDialect() { return "tile"; }
    /// The workspace of that name, or null.
    WorkspaceOp getWorkspace(::llvm::StringRef name);
    /// The choice of that kind, or null.
    ChooseOp getChoice(ExtentBase kind);
  }];
}

def Tile_WorkspaceFill : Tile_Enum<"WorkspaceFill", "the contents of a workspace before the first stage", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Zero", 1, "zero">,
  I32EnumAttrCase<"Launch", 2, "launch">, I32EnumAttrCase<"Program", 3, "program">]>;
def Tile_WorkspaceFillAttr : EnumAttr<Tile_Dialect, Tile_WorkspaceFill, "workspace_fill"> {
  let assemblyFormat = "$value";
}

def Tile_WorkspaceOp : Tile_Op<"workspace", [HasParent<"EntryOp">]> {
  let summary = "memory that the launcher allocates";
  let description = [{
    A dense tensor that only the stages use: no caller sees it. Before the first stage its contents
    are undefined. With `fill zero` they are zeros: flags by which programs of a stage wait for each
    other. With `fill program` all dimensions but the last two count programs, and each program uses
    its own two: it writes before it reads, and no other program reads what it leaves. So threads of
    a processor may have one such part each, for all programs that they run. With `fill launch` the
    contents are four i64:

    | number | in a stage `per_split` | in a stage that combines splits |
    |---|---|---|
    | 1 | the first split that the program computes | which of the programs of a head it is |
    | 2 | the split after its last one | how many programs a head has |
    | 3 | the position of the first row | the same |
    | 4 | how many rows of the same call come after the last row of this launch | the same |

    ```mlir
    tile.workspace @flags : i32 [dim(0, 0), dim(0, 2)] fill zero
    ```
  }];
  let arguments = (ins SymbolNameAttr:$workspace, TypeAttr:$element, Tile_ExtentArrayAttr:$shape,
                       DefaultValuedAttr<Tile_WorkspaceFillAttr, "WorkspaceFill::None">:$fill);
  let assemblyFormat = [{
    $workspace `:` $element custom<Extents>($shape) (`fill` custom<Fill>($fill)^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_StageRole : Tile_Enum<"StageRole", "the role of a stage", [
  I32EnumAttrCase<"Main", 0, "main">,
  I32EnumAttrCase<"SegmentSums", 1, "segment_sums">,
  I32EnumAttrCase<"SegmentStates", 2, "segment_states">,
  I32EnumAttrCase<"Few", 3, "few">,
  I32EnumAttrCase<"Vectors", 4, "vectors">,
  I32EnumAttrCase<"Step", 5, "step">,
  I32EnumAttrCase<"Filters", 6, "filters">,
  I32EnumAttrCase<"Combine", 7, "combine">,
  I32EnumAttrCase<"GroupSums", 8, "group_sums">,
  I32EnumAttrCase<"WeightSums", 9, "weight_sums">,
  I32EnumAttrCase<"DecaySums", 10, "decay_sums">,
  I32EnumAttrCase<"StateSums", 11, "state_sums">,
  I32EnumAttrCase<"WriteBack", 12, "write_back">]>;
def Tile_StageRoleAttr : EnumAttr<Tile_Dialect, Tile_StageRole, "stage_role"> {
  let assemblyFormat = "$value";
}

def Tile_StageOp : Tile_Op<"stage", [HasParent<"EntryOp">]> {
  let summary = "one launch of a kernel";
  let description = [{
    The number of programs is the product of `programs`. The kernel takes the caller's tensors, then
    the workspaces that it uses. A stage begins when the one before has ended.

    The role says which results the kernel computes. `main` is not written.

    | role | computes | when |
    |---|---|---|
    | `main` | rows, and final states | |
    | `segment_sums` | the sums that the keys of each segment add to the states | before `main` |
    | `segment_states` | the states before each segment | before `main` |
    | `few` | calls of few tokens | before `main` |
    | `vectors` | the features of calls of one token | before `main` |
    | `step` | calls of one token | before `main` |
    | `filters` | the transforms of filters, and the roots of unity that transforms take | before `main` |
    | `combine` | rows, of the parts that splits have left | after `main` |
    | `group_sums` | rows of keys, as sums over the query heads of a group | after `main` |
    | `weight_sums` | gradients of weights, as sums over programs | after `main` |
    | `decay_sums` | the gradient of a decay | after `main` |
    | `state_sums` | the gradient of a state that several attends read | after `main` |
    | `write_back` | final states into the arguments that hold them | after `main` |

    With `per_split` the programs run as often as there are threads for the splits of the features,
    each time for some consecutive splits. A stage that combines splits runs as often, but only if
    there are several splits.

    Programs of a `chained` stage wait for programs with lower numbers: a program begins when all of
    these have begun.

    ```mlir
    tile.stage @chain programs [ceildiv(dim(0, 1), 64), dim(0, 0), dim(0, 2)] uses [@states, @flags] chained
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       DefaultValuedAttr<Tile_StageRoleAttr, "StageRole::Main">:$role,
                       Tile_ExtentArrayAttr:$programs,
                       OptionalAttr<FlatSymbolRefArrayAttr>:$uses, UnitAttr:$per_split,
                       UnitAttr:$chained);
  let assemblyFormat = [{
    $kernel (`role` custom<Role>($role)^)? `programs` custom<Extents>($programs)
    (`uses` $uses^)? (`per_split` $per_split^)? (`chained` $chained^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The names of the workspaces that the kernel takes.
    ::llvm::SmallVector<::llvm::StringRef> getUsedNames();
    bool combinesSplits() { return getRole() == StageRole::Combine; }
    /// Whether calls have as many programs as a choice says.
    bool isCountedBy(ExtentBase choice);
  }];
}

def Tile_ExtentBaseAttr : EnumAttr<Tile_Dialect, Tile_ExtentBase, "extent_base"> {
  let assemblyFormat = "$value";
}

def Tile_ChooseOp : Tile_Op<"choose", [HasParent<"EntryOp">]> {
  let summary = "a number that the launcher finds for each call";
  let description = [{
    `segments` divides a head's positions over several programs. All segments but the last have one
    length, a multiple of `multiple` and at least eight blocks of `block` positions. An earlier
    stage sums up the contribution of each segment to the state, in `subsegments` parts. A position
    there costs `prefix_cost_percent` of its cost in the main stage. Calls of fewer than
    `min_positions` have one segment.

    `splits` divides a head's features into at most `max` parts, for calls of `min_positions` or
    more. Long calls are computed in rounds of multiples of `multiple` positions.

    `parts` divides a sum over many programs. Each program of a part has a sum of its own, of
    `bytes`. There are no more parts than items, which `of` counts, and no more than give `max`
    programs, rounded up. The number depends on sizes alone, so that the same call always adds in
    the same order.

    ```mlir
    tile.choose splits of dim(0, 1) {max = 8 : i64, min_positions = 96 : i64, multiple = 64 : i64}
    tile.choose parts of dim(0, 0) {bytes = 65536 : i64, max = 64 : i64}
    ```
  }];
  let arguments = (ins Tile_ExtentBaseAttr:$kind, Tile_ExtentAttr:$of, OptionalAttr<I64Attr>:$block,
                       OptionalAttr<I64Attr>:$multiple, OptionalAttr<I64Attr>:$min_positions,
                       OptionalAttr<I64Attr>:$prefix_cost_percent,
                       OptionalAttr<I64Attr>:$subsegments, OptionalAttr<I64Attr>:$max,
                       OptionalAttr<I64Attr>:$bytes);
  let assemblyFormat = "custom<Choice>($kind) `of` custom<Extent>($of) attr-dict";
  let hasVerifier = 1;
}

#endif // TILE_LAUNCH_OPS
