//===- OptMain.cpp - polyattn-opt as a library ----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Pipelines/OptMain.h"
#include "dialects/Attributes/DidYouMean.h"
#include "dialects/PolyAttn/ShortForm/ReadingSession.h"
#include "dialects/PolyAttn/ShortForm/ShortForm.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "polyattn/Pipelines/Registration.h"
#include "polyattn/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace polyattn;

namespace {
/// What the options ask of a context, before anything is read.
struct ShortFormOptions : mlir::DialectExtension<ShortFormOptions, PolyAttnDialect> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShortFormOptions)
  ShortFormOptions(SpecSizes sizes, bool printShort)
      : sizes(std::move(sizes)), printShort(printShort) {}

  void apply(mlir::MLIRContext *, PolyAttnDialect *dialect) const override {
    if (printShort)
      dialect->addInterfaces<shortform::ShortPrinting>();
    if (!sizes.values.empty())
      ReadingSession::of(*dialect).begin(sizes);
  }

  SpecSizes sizes;
  bool printShort;
};
} // namespace

/// Refuses sizes that nothing has been read with.
static mlir::LogicalResult checkSizes(mlir::MLIRContext &context) {
  auto &dialect = *context.getOrLoadDialect<PolyAttnDialect>();
  // An option is no place in the text.
  mlir::ScopedDiagnosticHandler plain(&context, [](mlir::Diagnostic &diagnostic) {
    llvm::errs() << "polyattn-opt: error: --sizes: " << diagnostic.str() << "\n";
  });
  return ReadingSession::of(dialect).checkSizes(
      [&] { return mlir::emitError(mlir::UnknownLoc::get(&context)); });
}

/// The passes of the command line are asked for once the input has been read.
static mlir::MlirOptMainConfig readConfig(bool printShort) {
  auto given = mlir::MlirOptMainConfig::createFromCLOptions();
  mlir::MlirOptMainConfig config = given;
  config.setPassPipelineSetupFn([given, printShort](mlir::PassManager &passes) {
    if (failed(checkSizes(*passes.getContext())) || failed(given.setupPassPipeline(passes)))
      return mlir::failure();
    if (printShort)
      passes.addPass(createInlineMaps());
    return mlir::success();
  });
  return config;
}

static constexpr llvm::StringLiteral kHelp =
    R"(polyattn-opt: runs passes on attention specs and tile kernels, and prints IR

usage: polyattn-opt SPEC.mlir [options] [passes, in their order]

  polyattn-opt specs/llops.mlir --print-short --sizes d=64,m=1024
  polyattn-opt specs/llops.mlir --polyattn-cpu-pipeline="stop-after=tile target=x86-64-v3"

options:
  -o FILE              where the IR goes (default: standard output)
  --print-short        print attentions in the short form, maps put where they are used; IR
                       without a short form is printed as usual
  --sizes d=64,m=1024  sizes of attentions in the short form, in place of the text's
  --help-list          all options, MLIR's and LLVM's included: --mlir-print-ir-after-all, ...
  --version

pipelines, which take options, as in --polyattn-cpu-pipeline="stop-after=tile target=x86-64-v3":
  --polyattn-cpu-pipeline        a spec to the LLVM dialect for a processor
  --polyattn-nvptx-pipeline      a spec to kernels for an NVIDIA GPU
  --polyattn-direction-pipeline  the entries of a direction: training, backward, decode, ...

)";

static bool asksForHelp(int argc, char **argv) {
  return llvm::any_of(llvm::ArrayRef(argv, argc).drop_front(), [](llvm::StringRef argument) {
    return argument == "--help" || argument == "-help" || argument == "-h";
  });
}

/// The first unknown option of the command line; empty if all are known. LLVM's own error suggests
/// an option of one letter.
static llvm::StringRef unknownOption(int argc, char **argv) {
  auto &known = llvm::cl::getRegisteredOptions();
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front()) {
    llvm::StringRef name = argument;
    if (argument == "--") // positional arguments follow
      break;
    if (name.consume_front("--") && !known.count(name.split('=').first))
      return argument;
  }
  return "";
}

/// "; did you mean ...?" for the option that is nearest to it.
static std::string nearestOption(llvm::StringRef argument) {
  llvm::SmallVector<std::string> known;
  for (const auto &option : llvm::cl::getRegisteredOptions())
    known.push_back("--" + option.first.str());
  return didYouMean(argument.split('=').first, llvm::to_vector_of<llvm::StringRef>(known));
}

int polyattn::optMain(int argc, char **argv) {
  llvm::cl::opt<bool> printShort(
      "print-short", llvm::cl::desc("Print attentions in the short form, with their maps put where "
                                    "they are used; what has no short form is printed as usual"));
  llvm::cl::opt<std::string> sizesText(
      "sizes", llvm::cl::value_desc("d=64,m=1024"),
      llvm::cl::desc("Sizes of attentions in the short form, in place of their own"));
  registerPasses();
  if (asksForHelp(argc, argv)) {
    llvm::outs() << kHelp;
    mlir::printRegisteredPasses();
    return EXIT_SUCCESS;
  }
  mlir::DialectRegistry registry;
  registerDialects(registry);
  std::string header = mlir::registerCLIOptions(
      "Runs passes on attention specs and tile kernels; --polyattn-cpu-pipeline goes all of the "
      "way\n",
      registry);
  if (llvm::StringRef option = unknownOption(argc, argv); !option.empty()) {
    llvm::errs() << "polyattn-opt: error: unknown option '" << option << "', see --help"
                 << nearestOption(option) << "\n";
    return EXIT_FAILURE;
  }
  auto [input, output] = mlir::parseCLIOptions(argc, argv, header);
  if (!printShort && sizesText.empty())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  llvm::Expected<SpecSizes> sizes = parseSpecSizes(sizesText);
  if (!sizes) {
    llvm::errs() << "--sizes: " << llvm::toString(sizes.takeError()) << "\n";
    return EXIT_FAILURE;
  }
  registry.addExtension(mlir::TypeID::get<ShortFormOptions>(),
                        std::make_unique<ShortFormOptions>(std::move(*sizes), printShort));
  std::string message;
  auto text = mlir::openInputFile(input, &message);
  auto file = text ? mlir::openOutputFile(output, &message) : nullptr;
  if (!file) {
    llvm::errs() << message << "\n";
    return EXIT_FAILURE;
  }
  if (failed(mlir::MlirOptMain(file->os(), std::move(text), registry, readConfig(printShort))))
    return EXIT_FAILURE;
  file->keep();
  return EXIT_SUCCESS;
}
