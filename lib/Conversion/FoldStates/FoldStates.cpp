//===- FoldStates.cpp - states that are parts of others -------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a key is a sum over later queries of their features times what comes back to
// them, as that of a value is. The attends that compute them hold these sums in two shapes: rows of
// features, as the value's gradient reads them, and rows of what comes back, of which there is one
// more where there is a denominator; or, of a symmetric square beside powers of lower degree, rows
// of some of the features. An update is as much work as a read.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/Analysis/SameValues.h"
#include "lib/Conversion/Analysis/TileValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "polyattn/Conversion/Passes.h"

namespace polyattn {
#define GEN_PASS_DEF_FOLDSTATES
#include "lib/Conversion/Passes.h.inc"
} // namespace polyattn

using namespace mlir;
using namespace polyattn;
using namespace polyattn::tile;

namespace {

/// A buffer that one op updates.
struct State {
  BufferOp buffer;
  AccumulateOp update;
  /// All rows of the update's left factor, of which an iteration of a loop over them has some.
  Value lhs;
  /// The update, or that loop.
  Operation *step;

  static std::optional<State> of(BufferOp buffer);
  int64_t rows() { return buffer.getResult().getType().getRows(); }
  int64_t columns() { return buffer.getResult().getType().getColumns(); }
};

/// A state that another one has, as some of its rows or transposed.
class FoldedState {
public:
  FoldedState(const State &part, const State &whole) : part(part), whole(whole) {}

  /// Nothing is changed.
  bool match();
  /// Whether all that is read of it transposed is wanted transposed.
  bool needsNoTranspose();
  void apply();

private:
  bool sumTheSameRows();
  bool canSinkUpdate() const;
  bool seesSameUpdates(Operation *op) const;
  bool isTransposed();
  bool isReadByProduct(ReadOp read);
  /// Rows that the other state lacks.
  int64_t rest() { return part.rows() - whole.columns(); }
  void readRows();
  void readTransposed();
  void replace(DotOp product, ReadOp read, Value restBuffer);
  static void addTo(DotOp product, Value acc, Value transposed);
  void keepRest(Value restBuffer);

  State part, whole;
  /// The first row of the other state that is one of this one; none where it has columns of it.
  std::optional<int64_t> firstRow;
  /// Whether the other state's update moves down to where this one's is.
  bool sinksUpdate = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

static bool isZero(Value index) { return matchPattern(index, m_Zero()); }

/// The rows of which each iteration of the loop around an update takes as many as it has; null
/// where these are not all rows of the buffer, one after another.
static Value rowsOfLoop(AccumulateOp update) {
  auto loop = dyn_cast<scf::ForOp>(update->getParentOp());
  auto slice = update.getLhs().getDefiningOp<SliceOp>();
  if (!loop || !slice || update.getRow() != loop.getInductionVar() ||
      slice.getRow() != loop.getInductionVar() || !isZero(slice.getColumn()) ||
      !loop.isDefinedOutsideOfLoop(slice.getSource()) ||
      !loop.isDefinedOutsideOfLoop(update.getRhs()))
    return {};
  int64_t rows = update.getBuffer().getType().getRows();
  TileType window = slice.getType(), source = tileType(slice.getSource());
  APInt end, step;
  bool takesAll = isZero(loop.getLowerBound()) &&
                  matchPattern(loop.getUpperBound(), m_ConstantInt(&end)) &&
                  matchPattern(loop.getStep(), m_ConstantInt(&step)) && end == rows &&
                  step == window.getRows() && rows % window.getRows() == 0;
  return takesAll && source.getRows() == rows && source.getColumns() == window.getColumns()
             ? slice.getSource()
             : Value();
}

std::optional<State> State::of(BufferOp buffer) {
  AccumulateOp update;
  for (Operation *user : buffer->getUsers()) {
    if (isa<ReadOp>(user))
      continue;
    if (update || !isa<AccumulateOp>(user))
      return std::nullopt;
    update = cast<AccumulateOp>(user);
  }
  if (!update || buffer.getPersistent())
    return std::nullopt;
  if (isZero(update.getRow()) &&
      tileType(update.getLhs()).getRows() == buffer.getResult().getType().getRows())
    return State{buffer, update, update.getLhs(), update};
  if (Value rows = rowsOfLoop(update))
    return State{buffer, update, rows, update->getParentOp()};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is the same
//===----------------------------------------------------------------------===//

/// Whether the products are summed over the same positions, with the same decay and rounding.
bool FoldedState::sumTheSameRows() {
  AccumulateOp a = part.update, b = whole.update;
  return part.buffer->getBlock() == whole.buffer->getBlock() && part.step == a &&
         a->getBlock() == whole.step->getBlock() && areEqual(a.getBound(), b.getBound()) &&
         areEqual(a.getFactor(), b.getFactor()) && a.multipliesIn() == b.multipliesIn();
}

/// Whether the other state's update comes first, and can sink to this one's: nothing reads that
/// state between both.
bool FoldedState::canSinkUpdate() const {
  if (whole.step != whole.update || !whole.step->isBeforeInBlock(part.step))
    return false;
  return llvm::none_of(whole.buffer->getUsers(), [&](Operation *user) {
    Operation *near = part.step->getBlock()->findAncestorOpInBlock(*user);
    return near && whole.step->isBeforeInBlock(near) && near->isBeforeInBlock(part.step);
  });
}

/// Whether an op comes before both updates, or behind both.
bool FoldedState::seesSameUpdates(Operation *op) const {
  Operation *near = part.step->getBlock()->findAncestorOpInBlock(*op);
  return near && near != whole.step &&
         (sinksUpdate || near->isBeforeInBlock(part.step) == near->isBeforeInBlock(whole.step));
}

/// The first of what is stacked, where it has so many rows.
static Value firstRows(Value value, int64_t rows) {
  if (tileType(value).getRows() == rows)
    return value;
  auto concat = value.getDefiningOp<ConcatOp>();
  Value first = concat ? concat.getInputs().front() : Value();
  return first && tileType(first).getRows() == rows ? first : Value();
}

/// Whether the first rows of one state are the columns of the other one, and its columns the first
/// rows there.
bool FoldedState::isTransposed() {
  if (part.columns() > whole.rows() || rest() < 0)
    return false;
  Value own = firstRows(part.lhs, whole.columns()), other = firstRows(whole.lhs, part.columns());
  return own && other && areTransposed(part.update.getRhs(), other) &&
         areTransposed(own, whole.update.getRhs());
}

/// Whether a read of all rows is multiplied by what has the other state's columns as its rows, or
/// is loaded, and can be loaded so.
bool FoldedState::isReadByProduct(ReadOp read) {
  return isZero(read.getRow()) && read.getType().getRows() == part.rows() &&
         llvm::all_of(read->getUses(), [&](OpOperand &use) {
           auto dot = dyn_cast<DotOp>(use.getOwner());
           if (!dot || use.getOperandNumber() != 1 || dot.getTriangle() != Triangle::None ||
               dot.getLhsTriangle() != Triangle::None)
             return false;
           if (dot.getLhsTransposed())
             return true;
           auto load = dot.getLhs().getDefiningOp<LoadOp>();
           return rest() == 0 && load && isMovable(load);
         });
}

/// What a product begins, to which others are added.
static Value sumFrom(DotOp product) {
  Value sum = product.getResult();
  while (sum.hasOneUse()) {
    auto next = dyn_cast<DotOp>(*sum.user_begin());
    if (!next || next.getAcc() != sum)
      break;
    sum = next.getResult();
  }
  return sum;
}

bool FoldedState::needsNoTranspose() {
  return firstRow || llvm::all_of(part.buffer->getUsers(), [](Operation *user) {
           return !isa<ReadOp>(user) || llvm::all_of(user->getUsers(), [](Operation *product) {
             return llvm::any_of(sumFrom(cast<DotOp>(product)).getUsers(),
                                 llvm::IsaPred<TransposeOp>);
           });
         });
}

bool FoldedState::match() {
  if (!sumTheSameRows())
    return false;
  sinksUpdate = canSinkUpdate();
  bool seeSameUpdates = llvm::all_of(part.buffer->getUsers(), [&](Operation *user) {
    return user == part.update ||
           (seesSameUpdates(user) &&
            llvm::all_of(user->getUsers(), [&](auto *op) { return seesSameUpdates(op); }));
  });
  if (!seeSameUpdates)
    return false;
  if (part.columns() == whole.columns() && areEqual(part.update.getRhs(), whole.update.getRhs()))
    firstRow = findRows(part.lhs, whole.lhs);
  if (firstRow)
    return true;
  return isTransposed() && llvm::all_of(part.buffer->getUsers(), [&](Operation *user) {
           auto read = dyn_cast<ReadOp>(user);
           return !read || isReadByProduct(read);
         });
}

//===----------------------------------------------------------------------===//
// One for both
//===----------------------------------------------------------------------===//

static TileType typeOf(OpBuilder &builder, int64_t rows, int64_t columns, Type element) {
  return TileType::get(builder.getContext(), rows, columns, element);
}

static Value index(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

static Value sliceRows(OpBuilder &builder, Value value, int64_t first, int64_t count) {
  TileType type = tileType(value);
  Location loc = value.getLoc();
  return SliceOp::create(builder, loc,
                         typeOf(builder, count, type.getColumns(), type.getElementType()), value,
                         index(builder, loc, first), index(builder, loc, 0));
}

static Value add(OpBuilder &builder, Value a, Value b) {
  Location loc = a.getLoc();
  auto map = MapOp::create(builder, loc, a.getType(), ValueRange{a, b});
  OpBuilder::InsertionGuard guard(builder);
  Type element = tileType(a).getElementType();
  Block *body = builder.createBlock(&map.getBody(), {}, {element, element}, {loc, loc});
  Value sum = arith::AddFOp::create(builder, loc, body->getArgument(0), body->getArgument(1));
  YieldOp::create(builder, loc, sum);
  return map;
}

static DotOp createDot(OpBuilder &builder, DotOp like, Value lhs, Value rhs, Value acc, Value bound,
                       bool lhsTransposed) {
  TileType left = tileType(lhs), right = tileType(rhs);
  return DotOp::create(builder, like.getLoc(),
                       typeOf(builder, lhsTransposed ? left.getColumns() : left.getRows(),
                              right.getColumns(), like.getType().getElementType()),
                       lhs, rhs, acc, bound, lhsTransposed, /*lower=*/false, /*lower_lhs=*/false,
                       /*upper=*/false,
                       /*upper_lhs=*/false, like.getPrecisionAttr());
}

/// Whether a sum begins with nothing.
static bool isZeroTile(Value acc) {
  auto constant = acc ? acc.getDefiningOp<ConstantOp>() : ConstantOp();
  return !acc || (constant && constant.getValue().isZero());
}

/// A of a product A^T S, or of A S, whose A is loaded: its first rows.
static Value columnsOf(OpBuilder &builder, DotOp product, int64_t terms) {
  Value lhs = product.getLhs();
  if (product.getLhsTransposed()) {
    Value first = firstRows(lhs, terms);
    return first ? first : sliceRows(builder, lhs, 0, terms);
  }
  auto load = cast<LoadOp>(builder.clone(*lhs.getDefiningOp()));
  load.setTransposed(!load.getTransposed());
  load.getResult().setType(transposedType(lhs));
  return load;
}

/// (A^T S)^T = S^T A, of the rows that the other state has, and what there is of the rest.
void FoldedState::replace(DotOp product, ReadOp read, Value restBuffer) {
  OpBuilder builder(product);
  Location loc = product.getLoc();
  int64_t terms = whole.columns();
  Type element = product.getType().getElementType();
  builder.setInsertionPoint(read);
  Value state = ReadOp::create(builder, loc, typeOf(builder, part.columns(), terms, element),
                               whole.buffer, index(builder, loc, 0));
  builder.setInsertionPoint(product);
  Value lhs = product.getLhs(), columns = columnsOf(builder, product, terms);
  Value bound = product.getBound(), boundOfRest;
  if (bound && restBuffer) {
    Value most = index(builder, loc, terms);
    boundOfRest = arith::MaxSIOp::create(
        builder, loc, arith::SubIOp::create(builder, loc, bound, most), index(builder, loc, 0));
    bound = arith::MinSIOp::create(builder, loc, bound, most);
  }
  DotOp transposed =
      createDot(builder, product, state, columns, Value(), bound, /*lhsTransposed=*/false);
  Value acc = product.getAcc();
  if (restBuffer) {
    Value lacking = ReadOp::create(builder, loc, typeOf(builder, rest(), part.columns(), element),
                                   restBuffer, index(builder, loc, 0));
    acc = createDot(builder, product, sliceRows(builder, lhs, terms, rest()), lacking, acc,
                    boundOfRest,
                    /*lhsTransposed=*/true);
  }
  if (!acc)
    acc = ConstantOp::create(builder, loc, product.getType(), builder.getF64FloatAttr(0));
  addTo(product, acc, transposed);
}

/// Lets the product's sum begin with `acc`, and adds what the state gives in its stead where the
/// sum is used.
void FoldedState::addTo(DotOp product, Value acc, Value transposed) {
  Value sum = sumFrom(product);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : sum.getUses())
    uses.push_back(&use);
  if (sum == product.getResult())
    sum = acc;
  product.replaceAllUsesWith(acc);
  product.erase();
  for (OpOperand *use : uses) {
    Operation *user = use->getOwner();
    OpBuilder builder(user);
    auto transpose = [&](Value value) -> Value {
      return TransposeOp::create(builder, user->getLoc(), transposedType(value), value);
    };
    auto transposeOp = dyn_cast<TransposeOp>(user);
    if (!transposeOp) {
      Value ofState = transpose(transposed);
      use->set(isZeroTile(sum) ? ofState : add(builder, sum, ofState));
      continue;
    }
    transposeOp.replaceAllUsesWith(isZeroTile(sum) ? transposed
                                                   : add(builder, transpose(sum), transposed));
    transposeOp.erase();
  }
}

/// Gathers the rows that the other state lacks.
void FoldedState::keepRest(Value restBuffer) {
  AccumulateOp update = part.update;
  OpBuilder builder(update);
  AccumulateOp::create(builder, update.getLoc(),
                       sliceRows(builder, part.lhs, whole.columns(), rest()), update.getRhs(),
                       restBuffer, index(builder, update.getLoc(), 0), update.getBound(),
                       update.getFactor(), update.getPrecisionAttr());
}

void FoldedState::readTransposed() {
  OpBuilder builder(part.buffer);
  Value restBuffer;
  if (rest() > 0) {
    auto type = BufferType::get(builder.getContext(), rest(), part.columns());
    restBuffer = BufferOp::create(builder, part.buffer.getLoc(), type, /*persistent=*/false);
    keepRest(restBuffer);
  }
  for (Operation *user : llvm::make_early_inc_range(part.buffer->getUsers())) {
    auto read = dyn_cast<ReadOp>(user);
    if (!read)
      continue;
    for (Operation *product : llvm::make_early_inc_range(read->getUsers()))
      replace(cast<DotOp>(product), read, restBuffer);
    read.erase();
  }
}

void FoldedState::readRows() {
  for (Operation *user : llvm::make_early_inc_range(part.buffer->getUsers())) {
    auto read = dyn_cast<ReadOp>(user);
    if (!read)
      continue;
    OpBuilder builder(read);
    Value first = index(builder, read.getLoc(), *firstRow);
    if (!isZero(read.getRow()))
      first = arith::AddIOp::create(builder, read.getLoc(), read.getRow(), first);
    read.getRowMutable().assign(first);
    read.getBufferMutable().assign(whole.buffer);
  }
}

void FoldedState::apply() {
  whole.buffer->moveBefore(part.buffer);
  if (sinksUpdate)
    whole.update->moveBefore(part.update);
  firstRow ? readRows() : readTransposed();
  part.update.erase();
  part.buffer.erase();
}

namespace {
struct FoldStatesPass : polyattn::impl::FoldStatesBase<FoldStatesPass> {
  using FoldStatesBase::FoldStatesBase;

  /// The buffer is no more where another one has what it gathers.
  static void fold(BufferOp buffer, bool needsNoTranspose) {
    std::optional<State> part = State::of(buffer);
    for (BufferOp other : llvm::to_vector(buffer->getBlock()->getOps<BufferOp>())) {
      std::optional<State> whole = State::of(other);
      if (!part || !whole || other == buffer)
        continue;
      FoldedState folded(*part, *whole);
      if (folded.match() && (!needsNoTranspose || folded.needsNoTranspose()))
        return folded.apply();
    }
  }

  void runOnOperation() final {
    for (bool needsNoTranspose : {true, false})
      getOperation()->walk([&](Block *block) {
        for (BufferOp buffer : llvm::to_vector(block->getOps<BufferOp>()))
          fold(buffer, needsNoTranspose);
      });
  }
};
} // namespace
