//===- TargetPipeline.h - pipelines for a target that has a name -*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_PIPELINES_TARGETPIPELINE_H
#define POLYATTN_LIB_PIPELINES_TARGETPIPELINE_H

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Error.h"

namespace polyattn {

/// Registers the pipeline that `build` adds for what `find` knows under a name. `TextOptions` has
/// that name, `target`, and `stopAfter`. Not mlir::PassPipelineRegistration: its builder cannot
/// refuse an unknown target.
template <typename TextOptions, typename Description, typename Options>
void registerTargetPipeline(llvm::StringRef argument, llvm::StringRef summary,
                            llvm::Expected<Description> (*find)(llvm::StringRef),
                            void (*build)(mlir::OpPassManager &, const Options &)) {
  mlir::registerPassPipeline(
      argument, summary,
      [=](mlir::OpPassManager &passes, llvm::StringRef text,
          llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> error) {
        TextOptions parsed;
        if (mlir::failed(parsed.parseFromString(text)))
          return mlir::failure();
        llvm::Expected<Description> target = find(parsed.target);
        if (!target)
          return error(llvm::toString(target.takeError()));
        build(passes, {*target, parsed.stopAfter});
        return mlir::success();
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(TextOptions());
      });
}

} // namespace polyattn

#endif // POLYATTN_LIB_PIPELINES_TARGETPIPELINE_H
