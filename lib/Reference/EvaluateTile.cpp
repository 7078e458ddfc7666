//===- EvaluateTile.cpp - every program of a kernel -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Reference/EvaluateTile.h"
#include "TileInterpreter/Machine.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::reference;

static LogicalResult checkTensors(tile::KernelOp kernel, ArrayRef<Array> tensors) {
  if (tensors.size() != kernel.getNumTensors())
    return kernel.emitError("expected ")
           << kernel.getNumTensors() << " tensors, got " << tensors.size();
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    auto type = cast<MemRefType>(kernel.getTensor(i).getType());
    bool fits = type.getRank() == tensor.rank();
    for (int64_t d = 0; fits && d < type.getRank(); ++d)
      fits = type.isDynamicDim(d) || type.getDimSize(d) == tensor.shape[d];
    if (!fits)
      return kernel.emitError("tensor ") << kernel.getArgNames()[i] << " does not fit " << type;
  }
  return success();
}

LogicalResult polyattn::evaluateTile(tile::KernelOp kernel, MutableArrayRef<Array> tensors,
                                     const TileOptions &options) {
  if (failed(checkTensors(kernel, tensors)))
    return failure();
  SmallVector<const Array *, 2> sequences;
  for (StringRef name : {"query_tensor", "key_tensor"})
    if (auto index = kernel->getAttrOfType<IntegerAttr>(name))
      sequences.push_back(&tensors[index.getInt()]);
  if (sequences.empty())
    for (const Array &tensor : tensors)
      if (tensor.rank() == 4)
        sequences.push_back(&tensor);
  if (sequences.empty())
    return kernel.emitError("no tensor of rank 4 gives the batches and heads");
  int64_t batches = sequences[0]->shape[0], heads = sequences[0]->shape[2];
  int64_t kvHeads = sequences.size() > 1 ? sequences[1]->shape[2] : heads;
  if (heads == 0 || batches == 0)
    return success();
  if (kvHeads == 0 || heads % kvHeads != 0)
    return kernel.emitError("the query heads, ")
           << heads << ", are no multiple of the key heads, " << kvHeads;

  bool interleaved = kernel.isInterleaved();
  int64_t group = heads / kvHeads;
  int64_t segments = kernel.getSegments() ? options.segments + *kernel.getSegments() : 1;
  for (int64_t segment = 0; segment < segments; ++segment) {
    for (int64_t program = 0; program < batches * heads; ++program) {
      int64_t batch = program / heads, head = program % heads;
      if (options.onProgram)
        options.onProgram(batch, head);
      int64_t kvHead = interleaved ? head % kvHeads : head / group;
      Machine machine(kernel, tensors, options);
      if (failed(machine.runProgram(batch, head, kvHead, group, segment)))
        return failure();
    }
  }
  return success();
}
