//===- CallEmitter.cpp - warp ops as calls of the emulator ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallEmitter.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn;

/// A fragment of a product: six operands, then four accumulators.
static constexpr int kSlotElements = 10;
static constexpr int kFirstSum = 6;

CallEmitter::CallEmitter(ModuleOp module, func::FuncOp function)
    : module(module), function(function), builder(function.getLoc(), function.getContext()),
      i32(builder.getI32Type()), i64(builder.getI64Type()), f32(builder.getF32Type()),
      pointer(LLVM::LLVMPointerType::get(function.getContext())) {
  builder.setInsertionPointToStart(&function.getBody().front());
  slot = LLVM::AllocaOp::create(builder, pointer, i32, constant(kSlotElements), /*alignment=*/16);
}

void CallEmitter::run() {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa_and_nonnull<warp::WarpDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    builder.setInsertionPoint(op);
    builder.setLoc(op->getLoc());
    replace(op);
  }
}

Value CallEmitter::call(StringRef name, ValueRange operands, Type result) {
  if (!result)
    result = LLVM::LLVMVoidType::get(builder.getContext());
  FailureOr<LLVM::LLVMFuncOp> callee =
      LLVM::lookupOrCreateFn(builder, module, ("polyattn_emu_" + name).str(),
                             llvm::to_vector(operands.getTypes()), result);
  auto call = LLVM::CallOp::create(builder, *callee, operands);
  return call.getNumResults() ? call.getResult() : Value();
}

Value CallEmitter::constant(int64_t value) {
  return LLVM::ConstantOp::create(builder, i32, builder.getI32IntegerAttr(value));
}

Value CallEmitter::site(Operation *op) {
  auto line = op->getLoc()->findInstanceOf<FileLineColLoc>();
  sites.push_back(
      NameLoc::get(op->getName().getIdentifier(), line ? Location(line) : builder.getUnknownLoc()));
  return constant(static_cast<int64_t>(sites.size()) - 1);
}

Value CallEmitter::address(Value base, Value offset) {
  return LLVM::AddOp::create(builder, LLVM::PtrToIntOp::create(builder, i64, base), offset);
}

Value CallEmitter::slotElement(int index) {
  if (index == 0)
    return slot;
  return LLVM::GEPOp::create(builder, pointer, i32, slot, ArrayRef<LLVM::GEPArg>{index});
}

Value CallEmitter::loadSlot(Type type, int index) {
  return LLVM::LoadOp::create(builder, type, slotElement(index), /*alignment=*/4);
}

void CallEmitter::storeSlot(Value value, int index) {
  LLVM::StoreOp::create(builder, value, slotElement(index), /*alignment=*/4);
}

void CallEmitter::replace(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case<warp::CopyAsyncOp, warp::LdmatrixOp, warp::MmaSyncOp, warp::ShuffleOp, warp::AnyOp>(
          [&](auto op) { replace(op); })
      .Case<warp::LoadSharedOp, warp::LoadClusterOp, warp::StoreSharedOp, warp::LoadGlobalOp,
            warp::StoreGlobalOp>([&](auto op) { replaceMemory(op); })
      .Case<warp::BarrierOp, warp::ClusterBarrierOp, warp::SyncOp, warp::CommitCopiesOp,
            warp::WaitCopiesOp>([&](auto op) { replaceOrder(op); })
      .Default([&](Operation *op) { replaceNumber(op); });
  op->erase();
}

void CallEmitter::replaceOrder(Operation *op) {
  if (isa<warp::BarrierOp>(op))
    call("barrier", site(op));
  else if (isa<warp::ClusterBarrierOp>(op))
    call("cluster_barrier", site(op));
  else if (isa<warp::SyncOp>(op))
    call("sync", site(op));
  else if (isa<warp::CommitCopiesOp>(op))
    call("commit_copies", {});
  else
    call("wait_copies", constant(cast<warp::WaitCopiesOp>(op).getPending()));
}

static int64_t bytesOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  return type.getIntOrFloatBitWidth() / 8;
}

void CallEmitter::replaceMemory(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case([&](warp::LoadSharedOp op) {
        Type type = op.getType();
        call("load_shared", {site(op), op.getAddress(), constant(bytesOf(type)), slot});
        op.replaceAllUsesWith(loadSlot(type));
      })
      .Case([&](warp::LoadClusterOp op) {
        Type type = op.getType();
        call("load_cluster",
             {site(op), op.getAddress(), op.getRank(), constant(bytesOf(type)), slot});
        op.replaceAllUsesWith(loadSlot(type));
      })
      .Case([&](warp::StoreSharedOp op) {
        Value value = op.getValue();
        storeSlot(value);
        call("store_shared", {site(op), op.getAddress(), constant(bytesOf(value.getType())), slot});
      })
      .Case([&](warp::LoadGlobalOp op) {
        Type type = op.getType();
        call("load_global", {site(op), address(op.getBase(), op.getOffset()),
                             constant(bytesOf(type)), constant(op.getReadOnly()), slot});
        op.replaceAllUsesWith(loadSlot(type));
      })
      .Case([&](warp::StoreGlobalOp op) {
        Value value = op.getValue();
        storeSlot(value);
        call("store_global", {site(op), address(op.getBase(), op.getOffset()),
                              constant(bytesOf(value.getType())), slot});
      });
}

void CallEmitter::replace(warp::CopyAsyncOp op) {
  call("copy_async", {site(op), address(op.getBase(), op.getOffset()), op.getAddress(),
                      op.getBytes(), constant(op.getSize())});
}

void CallEmitter::replace(warp::LdmatrixOp op) {
  call("ldmatrix", {site(op), op.getAddress(), constant(op.getNumResults()),
                    constant(op.getTransposed()), slot});
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    result.replaceAllUsesWith(loadSlot(i32, i));
}

void CallEmitter::replace(warp::MmaSyncOp op) {
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    storeSlot(operand, i);
  call("mma_sync",
       {site(op), constant(static_cast<int64_t>(op.getKind())), slot, slotElement(kFirstSum)});
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    result.replaceAllUsesWith(loadSlot(f32, kFirstSum + i));
}

void CallEmitter::replace(warp::ShuffleOp op) {
  Value value = op.getValue();
  if (value.getType() == f32)
    value = LLVM::BitcastOp::create(builder, i32, value);
  value = call("shuffle",
               {site(op), constant(static_cast<int64_t>(op.getMode())), op.getLane(), value}, i32);
  if (op.getType() == f32)
    value = LLVM::BitcastOp::create(builder, f32, value);
  op.replaceAllUsesWith(value);
}

void CallEmitter::replace(warp::AnyOp op) {
  Value condition = LLVM::ZExtOp::create(builder, i32, op.getCondition());
  Value any = call("any", {site(op), condition}, i32);
  op.replaceAllUsesWith(LLVM::TruncOp::create(builder, op.getType(), any).getResult());
}

/// An element of a constant of the module.
Value CallEmitter::lookup(warp::LookupOp op) {
  Type type = LLVM::LLVMArrayType::get(op.getType(), op.getTable().getNumElements());
  LLVM::GlobalOp table;
  for (auto known : module.getOps<LLVM::GlobalOp>())
    if (known.getValueOrNull() == op.getTable() && known.getGlobalType() == type)
      table = known;
  if (!table) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto tables = module.getOps<LLVM::GlobalOp>();
    auto number = std::distance(tables.begin(), tables.end());
    table = LLVM::GlobalOp::create(builder, type, /*isConstant=*/true, LLVM::Linkage::Private,
                                   ("polyattn_table_" + Twine(number)).str(), op.getTable());
  }
  Value index =
      call("check_index", {site(op), op.getIndex(), constant(op.getTable().getNumElements())}, i32);
  Value start = LLVM::AddressOfOp::create(builder, table);
  Value place =
      LLVM::GEPOp::create(builder, pointer, op.getType(), start, ArrayRef<LLVM::GEPArg>{index});
  return LLVM::LoadOp::create(builder, op.getType(), place);
}

/// Ops with one result that need no one else.
void CallEmitter::replaceNumber(Operation *op) {
  Value result =
      TypeSwitch<Operation *, Value>(op)
          .Case([&](warp::ThreadIdOp) { return call("thread_id", {}, i32); })
          .Case([&](warp::LaneIdOp) { return call("lane_id", {}, i32); })
          .Case([&](warp::WarpIdOp) { return call("warp_id", {}, i32); })
          .Case([&](warp::ProgramIdOp) { return call("program_id", {}, i32); })
          .Case([&](warp::ClusterRankOp) { return call("cluster_rank", {}, i32); })
          .Case([&](warp::PackOp op) {
            Value kind = constant(static_cast<int64_t>(op.getKind()));
            return call("pack", {kind, op.getLow(), op.getHigh()}, i32);
          })
          .Case([&](warp::MultiplyPairsOp op) {
            return call("multiply_pairs", {op.getLhs(), op.getRhs()}, i32);
          })
          .Case([&](warp::RoundTf32Op op) { return call("round_tf32", op.getValue(), f32); })
          .Case([&](warp::LookupOp op) { return lookup(op); })
          .Case([&](warp::OpaqueOp op) { return op.getValue(); });
  op->getResult(0).replaceAllUsesWith(result);
}
