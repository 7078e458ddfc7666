//===- FeatureOpBase.td - what definitions of feature ops share -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURE_OP_BASE
#define POLYATTN_FEATURE_OP_BASE

include "dialects/PolyAttn/FeatureOpInterface.td"
include "dialects/PolyAttn/PolyAttnBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def DependsOnPosition : NativeOpTrait<"DependsOnPosition"> { let cppNamespace = "::polyattn"; }
def CombinesScores : NativeOpTrait<"CombinesScores"> { let cppNamespace = "::polyattn"; }
def OnlyInGradients : NativeOpTrait<"OnlyInGradients"> { let cppNamespace = "::polyattn"; }

/// `features` operands that are vectors, all of them where it is -1, then weights, the first of which
/// has a meaning to callers that make up numbers for it (WeightMeaning).
class PolyAttn_ProgramOp<string mnemonic, int features = 1, int minWeights = 0,
                         int maxWeights = minWeights, string weightsMayBeVectors = "false",
                         list<Trait> traits = []>
    : PolyAttn_Op<mnemonic, !listconcat([Pure, InferTypeOpAdaptor], traits)> {
  string firstWeight = "Plain";
  code kinds = "static constexpr OperandKinds kOperandKinds = {" # features # ", " # minWeights
               # ", " # maxWeights # ", " # weightsMayBeVectors
               # ", WeightMeaning::" # firstWeight # "};";
  let extraClassDeclaration = kinds;
  let hasCustomAssemblyFormat = 1;
  code syntax = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &result) {
      return parseFeatureOp<$cppClass>(parser, result);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) { printFeatureOp(printer, *this); }
  }];
  let extraClassDefinition = syntax;
}

/// One vector from vectors and weights. The file of the op's family, NAMEOps.cpp, has what the
/// interface asks for.
class PolyAttn_FeatureOp<string mnemonic, int features = 1, int minWeights = 0,
                         int maxWeights = minWeights, string weightsMayBeVectors = "false",
                         list<Trait> traits = []>
    : PolyAttn_ProgramOp<mnemonic, features, minWeights, maxWeights, weightsMayBeVectors,
        !listconcat([DeclareOpInterfaceMethods<PolyAttn_FeatureOpInterface>,
                     DeclareOpInterfaceMethods<PolyAttn_DifferentiableOpInterface>], traits)> {
  let results = (outs PolyAttn_FeatureType:$result);
}

/// A feature op that works element by element. `element` is what it means, the body of a function
/// of the elements of its operands, in C++ that is true of any kind of `Number`: of f64, and of those
/// of the oracle that remember how they were computed. A constant stands where a branch has no slope.
class PolyAttn_ElementOp<string mnemonic, int features, int minWeights = 0,
                         int maxWeights = minWeights, string weightsMayBeVectors = "false",
                         list<Trait> traits = []>
    : PolyAttn_FeatureOp<mnemonic, features, minWeights, maxWeights, weightsMayBeVectors,
        !listconcat([DeclareOpInterfaceMethods<PolyAttn_ElementwiseOpInterface>], traits)> {
  code element = ?;
  code evaluation = [{
    double $cppClass::evaluateElement(::llvm::ArrayRef<double> operands,
                                      RoundingFunction rounded) {
      return element<double>(operands, rounded);
    }
  }];
  let extraClassDeclaration = kinds # [{
    /// What the op means, in numbers that std::exp or an own function of that name takes.
    template <typename Number, typename Rounded>
    Number element(::llvm::ArrayRef<Number> operands, [[maybe_unused]] Rounded rounded) {
      using std::exp, std::log, std::log1p, std::sin, std::cos, std::tanh, std::erfc, std::pow,
          std::sqrt, std::fabs, std::isnan;
      }] # element # [{
    }
  }];
  let extraClassDefinition = syntax # evaluation;
}

/// f(a_i) for every element; the width stays, the structure becomes a plain vector.
class PolyAttn_ElementwiseOp<string mnemonic, string formula>
    : PolyAttn_ElementOp<mnemonic, 1> {
  let summary = formula # ", element by element";
  let description = "No product form: the score is evaluated from the features.\n\n"
                    "Example: `%y = polyattn." # mnemonic # " %x : [64]`";
  let arguments = (ins PolyAttn_FeatureType:$input);
}

/// A function like exp, with all that is to be said of it: `meaning` is an expression of `a`, the
/// element; `gradient` one of the vectors x, y = f(x) and dy that gives dx in the words of
/// `GradientBuilder g`; `values` one of `x`, the bounds of the elements, that gives those of the
/// function's values.
class PolyAttn_FunctionOp<string mnemonic, string formula, code meaning, code gradient,
                          code values>
    : PolyAttn_ElementwiseOp<mnemonic, formula> {
  let element = "const Number &a = operands[0];\nreturn " # meaning # ";";
  code function = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location, Adaptor op,
        ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      return inferVector(context, location, results, widthOf(op.getInput()));
    }
    FeatureFacts $cppClass::getFacts(::llvm::ArrayRef<FeatureFacts> vectors) {
      [[maybe_unused]] Bounds x = vectors[0].bounds;
      return {/*degree=*/std::nullopt, }] # values # [{};
    }
    std::optional<double> $cppClass::getFactorOutside(::llvm::ArrayRef<double>) {
      return std::nullopt;
    }
    std::optional<double> $cppClass::getConstantElement(::llvm::ArrayRef<double> vectors) {
      return evaluateConstant(*this, vectors);
    }
    FeatureCost $cppClass::getCost() { return costOfFunctions(widthOf(getResult())); }
    void $cppClass::buildGradient(GradientBuilder &g, ::mlir::Value dy) {
      ::mlir::Value x = getInput();
      [[maybe_unused]] ::mlir::Value y = getResult();
      g.addTo(x, }] # gradient # [{);
    }
  }];
  let extraClassDefinition = syntax # evaluation # function;
}

#endif // POLYATTN_FEATURE_OP_BASE
