//===- Barriers.h - where the threads of a CTA must meet --------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a sequence of phases with loops and branches that all threads take alike. What a
// phase reads or writes is recorded while it is emitted, with a barrier before each of them;
// at the end the barriers that no hazard needs are taken out.
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LIB_CONVERSION_TILETOWARP_BARRIERS_H
#define POLYATTN_LIB_CONVERSION_TILETOWARP_BARRIERS_H

#include "Layout.h"
#include "mlir/IR/Operation.h"
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace polyattn::tile_to_warp {

class Barriers {
public:
  struct Access {
    Space space = Space::Shared;
    int64_t begin = 0, end = 0; // bytes, or the numbers of tensors
    bool isWrite = false;
    /// How the bytes are a tile: equal tiles have their elements at equal bytes.
    mlir::Type element;
    int64_t pitch = 0;
    bool columnMajor = false;
    /// Each thread has its own elements: two accesses to one tile by one layout need no barrier.
    std::optional<ThreadLayout> layout;
    /// The bytes come some time after the phase, unless their threads wait for them.
    bool isCopy = false;
    /// The least number of groups that are closed after the group of this copy; -1 while that is
    /// open.
    int64_t laterGroups = -1;
  };

  Barriers();
  ~Barriers();
  /// A new phase behind `barrier`, which stays if something before needs it, or in any case.
  void beginPhase(mlir::Operation *barrier, bool isNeeded = false);
  void access(const TileMemory &storage, bool isWrite, const std::optional<ThreadLayout> &layout);
  /// The same of any elements of a tensor that the kernel writes and reads, by its number.
  void accessTensor(int64_t tensor, bool isWrite);
  /// The phase starts asynchronous copies into memory: the barrier of the first phase that touches
  /// it waits for them, and barriers before do not.
  void copy(const TileMemory &storage);
  /// The phase closes the group of the copies since the last one. Threads close a group on every
  /// way through the phase, also one without copies.
  void closeGroup();
  /// Offsets into `doubleBuffer` are recorded as those of the first iteration.
  void beginLoop(const DoubleBuffer &doubleBuffer = {});
  void endLoop();
  void beginBranch();
  void nextBranch();
  void endBranch();

  /// Erases the barriers that are not needed, and waits for copies at others; for those that may
  /// still be on their way before `end`, the kernel's last op.
  void finish(mlir::Operation *end);

private:
  struct Node;
  using Sequence = std::vector<std::unique_ptr<Node>>;
  /// What threads have done since they last met, and copies that nobody has waited for.
  using Pending = std::vector<Access>;
  struct Node {
    enum Kind { Phase, Loop, Branch } kind;
    mlir::Operation *barrier = nullptr;
    bool needed = false;
    /// How many groups may be on their way behind the barrier, where it waits for copies of before.
    std::optional<int64_t> pendingGroups;
    int64_t groups = 0; // that the phase closes
    std::vector<Access> accesses;
    DoubleBuffer doubleBuffer;     // of a loop
    std::deque<Sequence> children; // a deque, whose elements keep their addresses
  };
  void visit(Sequence &sequence, Pending &pending);
  void visitPhase(Node &node, Pending &pending);
  void visitLoop(Node &node, Pending &pending);
  static void place(Sequence &sequence);

  Sequence kernel;
  std::vector<Sequence *> open;
  std::vector<Node *> openNodes;
  Node *phase = nullptr;
};

} // namespace polyattn::tile_to_warp

#endif // POLYATTN_LIB_CONVERSION_TILETOWARP_BARRIERS_H
