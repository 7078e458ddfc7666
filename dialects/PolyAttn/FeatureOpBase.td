//===- FeatureOpBase.td - what definitions of feature ops share -----------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_FEATURE_OP_BASE
#define POLYATTN_FEATURE_OP_BASE

include "dialects/PolyAttn/FeatureOpInterface.td"

def DependsOnPosition : NativeOpTrait<"DependsOnPosition"> { let cppNamespace = "::polyattn"; }
def CombinesScores : NativeOpTrait<"CombinesScores"> { let cppNamespace = "::polyattn"; }

/// `features` operands that are vectors, all of them where it is -1, then weights.
class PolyAttn_ProgramOp<string mnemonic, int features = 1, int minWeights = 0,
                         int maxWeights = minWeights, string weightsMayBeVectors = "false",
                         list<Trait> traits = []>
    : PolyAttn_Op<mnemonic, !listconcat([Pure, InferTypeOpAdaptor], traits)> {
  let extraClassDeclaration = "static constexpr OperandKinds kOperandKinds = {" # features # ", "
                              # minWeights # ", " # maxWeights # ", " # weightsMayBeVectors
                              # "};";
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
        !listconcat([DeclareOpInterfaceMethods<PolyAttn_FeatureOpInterface>], traits)> {
  let results = (outs PolyAttn_FeatureType:$result);
}

defvar PolyAttn_Elementwise = DeclareOpInterfaceMethods<PolyAttn_ElementwiseOpInterface>;

/// f(a_i) for every element; the width stays, the structure becomes a plain vector.
class PolyAttn_ElementwiseOp<string mnemonic, string formula>
    : PolyAttn_FeatureOp<mnemonic, 1, 0, 0, "false", [PolyAttn_Elementwise]> {
  let summary = formula # ", element by element";
  let description = "No product form: the score is evaluated from the features.\n\n"
                    "Example: `%y = polyattn." # mnemonic # " %x : [64]`";
  let arguments = (ins PolyAttn_FeatureType:$input);
}

/// A function like exp, with all that is to be said of it: `f64` is an expression of `double a`,
/// the element, and `nonNegative` says that it is never below zero.
class PolyAttn_FunctionOp<string mnemonic, string formula, code f64, bit nonNegative = false>
    : PolyAttn_ElementwiseOp<mnemonic, formula> {
  code function = [{
    double $cppClass::evaluateElement(::llvm::ArrayRef<double> operands,
                                      RoundingFunction rounded) {
      double a = operands[0];
      return }] # f64 # [{;
    }
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location, Adaptor op,
        ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      return inferVector(context, location, results, widthOf(op.getInput()));
    }
    FeatureFacts $cppClass::getFacts(::llvm::ArrayRef<FeatureFacts>) {
      return {/*degree=*/std::nullopt, /*nonNegative=*/}] # !if(nonNegative, "true", "false") # [{};
    }
    std::optional<double> $cppClass::getFactorOutside(::llvm::ArrayRef<double>) {
      return std::nullopt;
    }
    std::optional<double> $cppClass::getConstantElement(::llvm::ArrayRef<double> vectors) {
      return evaluateConstant(*this, vectors);
    }
    FeatureCost $cppClass::getCost() { return costOfFunctions(widthOf(getResult())); }
  }];
  let extraClassDefinition = syntax # function;
}

#endif // POLYATTN_FEATURE_OP_BASE
