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

static bool same(const Barriers::Access &a, const Barriers::Access &b) {
  return a.space == b.space && a.begin == b.begin && a.end == b.end && a.isWrite == b.isWrite &&
         a.grid == b.grid;
}

static void add(std::vector<Barriers::Access> &accesses, const Barriers::Access &access) {
  if (llvm::none_of(accesses, [&](const auto &other) { return same(access, other); }))
    accesses.push_back(access);
}

void Barriers::access(const Storage &storage, bool isWrite, llvm::StringRef grid) {
  add(phase->accesses,
      {storage.space, storage.offset, storage.offset + storage.bytes, isWrite, grid.str()});
}

void Barriers::copy(const Storage &storage) {
  access(storage, /*isWrite=*/true, "");
  phase->copies = true;
}

void Barriers::Pending::add(const Pending &other) {
  for (const Access &access : other.accesses)
    ::add(accesses, access);
  copies |= other.copies;
}

void Barriers::beginLoop() {
  open.back()->push_back(std::make_unique<Node>());
  Node *node = open.back()->back().get();
  node->kind = Node::Loop;
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
  bool samePlace = a.begin == b.begin && a.end == b.end;
  return !(samePlace && !a.grid.empty() && a.grid == b.grid);
}

void Barriers::visit(Sequence &sequence, Pending &pending) {
  for (auto &node : sequence) {
    switch (node->kind) {
    case Node::Phase:
      for (const Access &before : pending.accesses)
        for (const Access &access : node->accesses)
          node->needed |= conflict(before, access);
      if (node->needed) {
        node->waits |= pending.copies;
        pending = Pending();
      }
      pending.add({node->accesses, node->copies});
      break;
    case Node::Loop: {
      // No iteration, one, and one that follows another. Barriers once needed stay, so that the
      // third visit sees all that the end of an iteration can leave.
      Pending skipped = pending;
      for (int turn = 0; turn < 3; ++turn) {
        visit(node->children[0], pending);
        pending.add(skipped);
      }
      break;
    }
    case Node::Branch: {
      Pending before = pending, after;
      if (node->children.size() == 1)
        after = before;
      for (Sequence &child : node->children) {
        pending = before;
        visit(child, pending);
        after.add(pending);
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
    } else if (node->waits) {
      mlir::OpBuilder builder(node->barrier);
      warp::WaitCopiesOp::create(builder, node->barrier->getLoc(), 0);
    }
    for (Sequence &child : node->children)
      place(child);
  }
}

void Barriers::finish() {
  Pending pending;
  visit(kernel, pending);
  place(kernel);
}
