//===- Barriers.cpp - where the threads of a CTA must meet ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Barriers.h"
#include "dialects/Warp/Warp.h"
#include "llvm/ADT/STLExtras.h"

using namespace polyattn;
using namespace polyattn::tile_to_warp;

Barriers::Barriers() { open.push_back(&kernel); }
Barriers::~Barriers() = default;

void Barriers::beginPhase(mlir::Operation *barrier, bool isNeeded) {
  open.back()->push_back(std::make_unique<Node>());
  phase = open.back()->back().get();
  phase->kind = Node::Phase;
  phase->barrier = barrier;
  phase->needed = isNeeded;
}

/// Whether the same elements of a tile are at the same bytes.
static bool sameTile(const Barriers::Access &a, const Barriers::Access &b) {
  return a.begin == b.begin && a.end == b.end && a.element == b.element && a.pitch == b.pitch &&
         a.columnMajor == b.columnMajor;
}

static bool same(const Barriers::Access &a, const Barriers::Access &b) {
  return a.space == b.space && sameTile(a, b) && a.isWrite == b.isWrite && a.layout == b.layout &&
         a.isCopy == b.isCopy;
}

static Barriers::Access accessTo(const TileMemory &storage, bool isWrite) {
  Barriers::Access access;
  access.space = storage.space;
  access.begin = storage.offset;
  access.end = storage.offset + storage.bytes;
  access.isWrite = isWrite;
  access.element = storage.element;
  access.pitch = storage.pitch;
  access.columnMajor = storage.columnMajor && !storage.isVector();
  return access;
}

static void add(std::vector<Barriers::Access> &accesses, const Barriers::Access &access) {
  auto known = llvm::find_if(accesses, [&](const auto &other) { return same(access, other); });
  if (known == accesses.end())
    accesses.push_back(access);
  else
    known->laterGroups = std::min(known->laterGroups, access.laterGroups);
}

static void add(std::vector<Barriers::Access> &accesses,
                const std::vector<Barriers::Access> &others) {
  for (const Barriers::Access &access : others)
    add(accesses, access);
}

void Barriers::access(const TileMemory &storage, bool isWrite,
                      const std::optional<ThreadLayout> &layout) {
  Access access = accessTo(storage, isWrite);
  access.layout = layout;
  add(phase->accesses, access);
}

void Barriers::accessTensor(int64_t tensor, bool isWrite) {
  Access access;
  access.space = Space::Tensor;
  access.begin = tensor;
  access.end = tensor + 1;
  access.isWrite = isWrite;
  add(phase->accesses, access);
}

void Barriers::copy(const TileMemory &storage) {
  Access access = accessTo(storage, /*isWrite=*/true);
  access.isCopy = true;
  add(phase->accesses, access);
}

static void closeGroups(std::vector<Barriers::Access> &accesses, int64_t groups) {
  for (Barriers::Access &access : accesses)
    access.laterGroups += groups;
}

void Barriers::closeGroup() {
  closeGroups(phase->accesses, 1);
  ++phase->groups;
}

void Barriers::beginLoop(const DoubleBuffer &doubleBuffer) {
  open.back()->push_back(std::make_unique<Node>());
  Node *node = open.back()->back().get();
  node->kind = Node::Loop;
  node->doubleBuffer = doubleBuffer;
  node->children.emplace_back();
  openNodes.push_back(node);
  open.push_back(&node->children.back());
}

void Barriers::endLoop() {
  open.pop_back();
  openNodes.pop_back();
}

void Barriers::beginBranch() {
  beginLoop();
  openNodes.back()->kind = Node::Branch;
}

void Barriers::nextBranch() {
  openNodes.back()->children.emplace_back();
  open.back() = &openNodes.back()->children.back();
}

void Barriers::endBranch() { endLoop(); }

static bool conflict(const Barriers::Access &a, const Barriers::Access &b) {
  if (a.space != b.space || a.end <= b.begin || b.end <= a.begin || !(a.isWrite || b.isWrite))
    return false;
  return !(sameTile(a, b) && a.layout && a.layout == b.layout);
}

void Barriers::visitPhase(Node &node, Pending &pending) {
  for (const Access &before : pending)
    for (const Access &access : node.accesses)
      if (conflict(before, access)) {
        node.needed = true;
        assert((!before.isCopy || before.laterGroups >= 0) && "waits for copies of an open group");
        if (before.isCopy)
          node.pendingGroups =
              std::min(node.pendingGroups.value_or(before.laterGroups), before.laterGroups);
      }
  // What is on its way stays so behind a barrier, unless all threads wait first.
  auto isDone = [&](const Access &access) {
    return !access.isCopy || (node.pendingGroups && access.laterGroups >= *node.pendingGroups);
  };
  if (node.needed)
    llvm::erase_if(pending, isDone);
  closeGroups(pending, node.groups);
  add(pending, node.accesses);
}

/// Where an access of one iteration lies as the next iteration, or what follows the loop, names it.
/// There, and where an access is not inside one stage, it may be anywhere in both.
static void swapBuffers(std::vector<Barriers::Access> &accesses, const DoubleBuffer &doubleBuffer,
                        bool ends) {
  for (Barriers::Access &access : accesses) {
    if (access.space != Space::Shared || access.end <= doubleBuffer.offset ||
        doubleBuffer.end() <= access.begin)
      continue;
    int64_t second = doubleBuffer.offset + doubleBuffer.bytes;
    bool inFirst = access.begin >= doubleBuffer.offset && access.end <= second;
    bool inSecond = access.begin >= second && access.end <= doubleBuffer.end();
    if (!ends && (inFirst || inSecond)) {
      int64_t distance = inFirst ? doubleBuffer.bytes : -doubleBuffer.bytes;
      access.begin += distance;
      access.end += distance;
      continue;
    }
    access.begin = std::min(access.begin, doubleBuffer.offset);
    access.end = std::max(access.end, doubleBuffer.end());
    access.layout.reset();
  }
}

void Barriers::visitLoop(Node &node, Pending &pending) {
  // No iteration, one, and one that follows another, or with stages the one after that. Barriers
  // once needed stay, so that the last visit sees all that the end of an iteration can leave.
  Pending skipped = pending;
  for (int iteration = 0; iteration < (node.doubleBuffer.bytes ? 4 : 3); ++iteration) {
    visit(node.children[0], pending);
    swapBuffers(pending, node.doubleBuffer, /*ends=*/false);
    add(pending, skipped);
  }
  swapBuffers(pending, node.doubleBuffer, /*ends=*/true);
}

void Barriers::visit(Sequence &sequence, Pending &pending) {
  for (auto &node : sequence) {
    switch (node->kind) {
    case Node::Phase:
      visitPhase(*node, pending);
      break;
    case Node::Loop:
      visitLoop(*node, pending);
      break;
    case Node::Branch: {
      Pending before = pending, after;
      if (node->children.size() == 1)
        after = before;
      for (Sequence &child : node->children) {
        pending = before;
        visit(child, pending);
        add(after, pending);
      }
      pending = after;
      break;
    }
    }
  }
}

void Barriers::place(Sequence &sequence) {
  for (auto &node : sequence) {
    if (node->kind == Node::Phase && !node->needed) {
      node->barrier->erase();
    } else if (node->pendingGroups) {
      mlir::OpBuilder builder(node->barrier);
      warp::WaitCopiesOp::create(builder, node->barrier->getLoc(), *node->pendingGroups);
    }
    for (Sequence &child : node->children)
      place(child);
  }
}

void Barriers::finish(mlir::Operation *end) {
  Pending pending;
  visit(kernel, pending);
  place(kernel);
  // What is copied for one branch is on its way to the end where another one is taken.
  if (llvm::any_of(pending, [](const Access &access) { return access.isCopy; })) {
    mlir::OpBuilder builder(end);
    warp::WaitCopiesOp::create(builder, end->getLoc(), 0);
  }
}
