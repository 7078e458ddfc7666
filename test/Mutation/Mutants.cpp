//===- Mutants.cpp - a kernel with its mutants inside ---------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "dialects/Warp/Warp.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/LocationSnapshot.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;
using namespace polyattn::mutation;

/// More mutants than any kernel has.
static constexpr size_t kMaxMutants = size_t(1) << 16;
/// The unit of a copy and of a row of ldmatrix.
static constexpr int64_t kLineBytes = 16;

namespace {
class Planter {
public:
  Planter(gpu::GPUFuncOp kernel, MutatedKernel &result,
          llvm::DenseMap<Operation *, std::string> origins);
  void plant(Operation *op);

private:
  /// A new mutant of an op; true in the kernel where it is the chosen one.
  Value mutant(Operation *op, const Twine &change, Value differs = {});
  /// Notes that the newest mutant's op is executed; `differs` null: it always makes a difference.
  void note(Value differs);

  void remove(Operation *op);
  void weaken(warp::WaitCopiesOp op);
  void shift(Operation *op, OpOperand &address, int64_t bytes, const Twine &what,
             Value differs = {});
  void shiftAddress(Operation *op, OpOperand &address, int64_t elementBytes);
  void swap(Operation *op, unsigned first, unsigned second, const Twine &what);
  /// Another op in its place.
  void replace(Operation *op, const Twine &change, llvm::function_ref<void(Operation *)> modify);
  void mutate(warp::MmaSyncOp op);
  void mutate(warp::PackOp op);
  void mutate(warp::ShuffleOp op);
  void mutate(warp::CopyAsyncOp op);
  void mutate(scf::ForOp op);

  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(e, e.getIntegerAttr(type, value));
  }
  Value pointer(const void *address) {
    return LLVM::IntToPtrOp::create(e, LLVM::LLVMPointerType::get(e.getContext()),
                                    constant(e.getI64Type(), reinterpret_cast<int64_t>(address)));
  }
  Value differ(Value a, Value b) {
    return arith::CmpIOp::create(e, arith::CmpIPredicate::ne, a, b);
  }
  Value bits(Value value) {
    return value.getType().isF32() ? arith::BitcastOp::create(e, e.getI32Type(), value).getResult()
                                   : value;
  }

  ImplicitLocOpBuilder e;
  MutatedKernel &result;
  llvm::DenseMap<Operation *, std::string> origins;
  Value chosen;
};
} // namespace

Planter::Planter(gpu::GPUFuncOp kernel, MutatedKernel &result,
                 llvm::DenseMap<Operation *, std::string> origins)
    : e(kernel.getLoc(), kernel.getContext()), result(result), origins(std::move(origins)) {
  e.setInsertionPointToStart(&kernel.getBody().front());
  chosen = LLVM::LoadOp::create(e, e.getI32Type(), pointer(&result.switches->chosen),
                                /*alignment=*/4, /*isVolatile=*/true);
}

static unsigned lineOf(Operation *op) {
  auto location = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return location ? location.getLine() : 0;
}

Value Planter::mutant(Operation *op, const Twine &change, Value differs) {
  int64_t number = result.mutants.size();
  result.mutants.push_back(
      {change.str(), op->getName().getStringRef().str(), lineOf(op), origins.lookup(op)});
  note(differs);
  return arith::CmpIOp::create(e, arith::CmpIPredicate::eq, chosen,
                               constant(e.getI32Type(), number));
}

void Planter::note(Value differs) {
  Value place = pointer(&result.switches->seen[result.mutants.size() - 1]);
  Type byte = e.getIntegerType(8);
  Value seen = constant(byte, Switches::kReached | Switches::kDiffers);
  if (differs) {
    seen = arith::SelectOp::create(e, differs, seen, constant(byte, Switches::kReached));
    seen = arith::OrIOp::create(e, seen, LLVM::LoadOp::create(e, byte, place));
  }
  LLVM::StoreOp::create(e, seen, place);
}

void Planter::remove(Operation *op) {
  Value off = mutant(op, "removed");
  Value on = arith::XOrIOp::create(e, off, constant(e.getI1Type(), 1));
  auto branch = scf::IfOp::create(e, on, /*withElseRegion=*/false);
  op->moveBefore(branch.thenBlock()->getTerminator());
}

void Planter::replace(Operation *op, const Twine &change,
                      llvm::function_ref<void(Operation *)> modify) {
  Value mutated = mutant(op, change);
  auto branch = scf::IfOp::create(e, op->getResultTypes(), mutated, /*withElseRegion=*/true);
  for (bool isThen : {true, false}) {
    OpBuilder::InsertionGuard guard(e);
    // Without results a branch has its terminator already.
    e.setInsertionPointToStart(isThen ? branch.thenBlock() : branch.elseBlock());
    Operation *copy = e.clone(*op);
    if (isThen)
      modify(copy);
    if (op->getNumResults())
      scf::YieldOp::create(e, copy->getResults());
  }
  op->replaceAllUsesWith(branch.getResults());
  op->erase();
}

void Planter::weaken(warp::WaitCopiesOp op) {
  remove(op);
  e.setInsertionPoint(op);
  replace(op, "pending + 1", [](Operation *copy) {
    auto wait = cast<warp::WaitCopiesOp>(copy);
    wait.setPending(wait.getPending() + 1);
  });
}

void Planter::shift(Operation *op, OpOperand &address, int64_t bytes, const Twine &what,
                    Value differs) {
  Type type = address.get().getType();
  Value mutated = mutant(op, what + " + " + Twine(bytes) + " bytes", differs);
  Value distance = arith::SelectOp::create(e, mutated, constant(type, bytes), constant(type, 0));
  address.set(arith::AddIOp::create(e, address.get(), distance));
}

void Planter::shiftAddress(Operation *op, OpOperand &address, int64_t elementBytes) {
  shift(op, address, elementBytes, "address");
  shift(op, address, kLineBytes, "address");
}

void Planter::swap(Operation *op, unsigned first, unsigned second, const Twine &what) {
  Value a = op->getOperand(first), b = op->getOperand(second);
  if (a == b)
    return;
  Value mutated = mutant(op, what + " swapped", differ(bits(a), bits(b)));
  op->setOperand(first, arith::SelectOp::create(e, mutated, b, a));
  op->setOperand(second, arith::SelectOp::create(e, mutated, a, b));
}

void Planter::mutate(warp::MmaSyncOp op) {
  constexpr unsigned kA1 = 1, kA2 = 2, kB0 = 4, kB1 = 5, kC1 = 7, kC2 = 8;
  swap(op, kA1, kA2, "a1, a2");
  swap(op, kB0, kB1, "b0, b1");
  swap(op, kC1, kC2, "c1, c2");
}

void Planter::mutate(warp::PackOp op) {
  if (op.getLow() == op.getHigh())
    return;
  // Different numbers may be the same when rounded.
  Value packed = e.clone(*op)->getResult(0);
  Value swapped = warp::PackOp::create(e, op.getKind(), op.getHigh(), op.getLow());
  Value mutated = mutant(op, "halves swapped", differ(packed, swapped));
  op.replaceAllUsesWith(arith::SelectOp::create(e, mutated, swapped, packed).getResult());
  op.erase();
}

void Planter::mutate(warp::ShuffleOp op) {
  // A distance of a butterfly that the others do not have would still reach all lanes.
  // Where each lane has its own, one of another group of four.
  std::optional<int64_t> lane = getConstantIntValue(op.getLane());
  if (!lane)
    return shift(op, op.getLaneMutable(), 4, "lane");
  int64_t other =
      op.getMode() == warp::ShuffleMode::Xor ? (*lane > 1 ? *lane / 2 : 2) : (*lane + 1) % 32;
  Value number = constant(op.getLane().getType(), other);
  replace(op, "lane " + Twine(*lane) + " is " + Twine(other),
          [&](Operation *copy) { cast<warp::ShuffleOp>(copy).getLaneMutable().assign(number); });
}

void Planter::mutate(warp::CopyAsyncOp op) {
  Value count = op.getBytes();
  Type type = count.getType();
  Value reads = differ(count, constant(type, 0));
  shift(op, op.getOffsetMutable(), kLineBytes, "source", reads);
  shift(op, op.getAddressMutable(), kLineBytes, "destination");
  for (int64_t bytes : {op.getSize(), op.getSize() / 2}) {
    if (matchPattern(count, m_Constant()) && bytes == op.getSize())
      continue;
    Value always = constant(type, bytes);
    Value mutated = mutant(op, "always " + Twine(bytes) + " bytes", differ(count, always));
    op.getBytesMutable().set(arith::SelectOp::create(e, mutated, always, op.getBytes()));
  }
}

void Planter::mutate(scf::ForOp op) {
  WalkResult products = op.walk([](warp::MmaSyncOp) { return WalkResult::interrupt(); });
  if (!products.wasInterrupted())
    return;
  Value end = op.getUpperBound();
  Value fewer = mutant(op, "one iteration fewer");
  end = arith::SelectOp::create(e, fewer, arith::SubIOp::create(e, end, op.getStep()), end);
  Value more = mutant(op, "one iteration more");
  end = arith::SelectOp::create(e, more, arith::AddIOp::create(e, end, op.getStep()), end);
  op.setUpperBound(end);
}

static int64_t elementBytesOf(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
}

void Planter::plant(Operation *op) {
  e.setInsertionPoint(op);
  e.setLoc(op->getLoc());
  TypeSwitch<Operation *>(op)
      .Case<warp::BarrierOp, warp::ClusterBarrierOp, warp::SyncOp, warp::CommitCopiesOp>(
          [&](auto op) { remove(op); })
      .Case([&](warp::WaitCopiesOp op) { weaken(op); })
      .Case([&](warp::LoadSharedOp op) {
        shiftAddress(op, op.getAddressMutable(), elementBytesOf(op.getType()));
      })
      .Case([&](warp::LoadClusterOp op) {
        shiftAddress(op, op.getAddressMutable(), elementBytesOf(op.getType()));
      })
      .Case([&](warp::StoreSharedOp op) {
        shiftAddress(op, op.getAddressMutable(), elementBytesOf(op.getValue().getType()));
      })
      .Case([&](warp::LdmatrixOp op) {
        shiftAddress(op, op.getAddressMutable(), /*elementBytes=*/2);
        replace(op, "transposed flipped", [](Operation *copy) {
          auto load = cast<warp::LdmatrixOp>(copy);
          load.setTransposed(!load.getTransposed());
        });
      })
      .Case<warp::MmaSyncOp, warp::PackOp, warp::ShuffleOp, warp::CopyAsyncOp, scf::ForOp>(
          [&](auto op) { mutate(op); });
}

MutatedKernel mutation::plantMutants(gpu::GPUFuncOp kernel, StringRef name,
                                     llvm::raw_ostream &stream) {
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, std::string> origins;
  kernel.walk([&](Operation *op) {
    ops.push_back(op);
    if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
      origins[op] = (Twine(place.getLine()) + ":" + Twine(place.getColumn())).str();
  });
  OpPrintingFlags flags;
  generateLocationsFromIR(stream, name, kernel, flags.useLocalScope());
  MutatedKernel result;
  result.switches = std::make_unique<Switches>();
  result.switches->seen.resize(kMaxMutants);
  Planter planter(kernel, result, std::move(origins));
  for (Operation *op : ops)
    planter.plant(op);
  return result;
}
