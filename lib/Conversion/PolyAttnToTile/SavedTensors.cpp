//===- SavedTensors.cpp - values that kernels leave for sums --------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SavedTensors.h"
#include "DecaySums.h"
#include "StateSums.h"

using namespace mlir;
using namespace polyattn;

SmallVector<HiddenArgument> polyattn::workspacesOf(Builder &b, ArrayRef<StoredResult> saved) {
  constexpr int64_t any = ShapedType::kDynamic;
  auto products = RankedTensorType::get({any, any, any}, b.getF32Type());
  SmallVector<HiddenArgument> all;
  for (const StoredResult &value : saved) {
    auto state = dyn_cast<RankedTensorType>(value.result.getType());
    all.push_back({value.name, state ? state : products});
  }
  return all;
}

SavedTensors::SavedTensors(Operation *op, unsigned result, ArrayRef<KernelInfo> kernels)
    : tensors(kernels[0].tensors), resultTensor(tensors.inputs + result) {
  for (const KernelInfo &kernel : kernels)
    for (ArrayRef<StoredResult> saved : {ArrayRef(kernel.saved), ArrayRef(kernel.savedSums)})
      for (const StoredResult &value : saved)
        if (llvm::is_contained(op->getOperands(), value.result))
          values.push_back(value);
  tensors.goBy(resultTensor);
  tensors.rowsOfKeys = false;
  tensors.sameHeads = true;
  tensors.firstPosition.reset();
  tensors.cluster = 1;
}

tile::KernelOp SavedTensors::createKernel(TileBuilder &b, StringRef name, ArrayAttr axes) const {
  return polyattn::createKernel(b, name, tensors, workspacesOf(b, values), axes);
}

Value SavedTensors::tensorOf(tile::KernelOp kernel, Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return kernel.getTensor(argument.getArgNumber());
  auto it = llvm::find_if(values, [&](const StoredResult &saved) { return saved.result == value; });
  return kernel.getTensor(tensors.types.size() + (it - values.begin()));
}

std::vector<std::unique_ptr<SavedSum>> SavedSum::allOf(ArrayRef<KernelInfo> kernels) {
  std::vector<std::unique_ptr<SavedSum>> all;
  auto results = llvm::enumerate(returnedBy(kernels[0].attention));
  for (auto [i, value] : results)
    if (auto op = value.getDefiningOp<DecayGradientOp>())
      all.push_back(std::make_unique<DecaySums>(op, all.size(), SavedTensors(op, i, kernels)));
  unsigned numStates = 0;
  for (auto [i, value] : results)
    if (auto op = value.getDefiningOp<AddGradientsOp>())
      all.push_back(std::make_unique<StateSums>(op, numStates++, SavedTensors(op, i, kernels)));
  return all;
}
