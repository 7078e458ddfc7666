//===- TilePrograms.cpp - random tile kernels -----------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of the kind that attentions become: a loop over blocks of positions, buffers that it
// carries, tiles computed from what a block loads. Which ops there are, their shapes and forms,
// what uses what and what is written in between is random.
//
//===----------------------------------------------------------------------===//

#include "TilePrograms.h"
#include "Program.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace polyattn;
using namespace polyattn::random;
using llvm::formatv;

namespace {

struct Tile {
  std::string name;
  int64_t rows, columns;
  std::string type() const { return formatv("!tile.tile<{0}x{1}xf32>", rows, columns); }
};

struct Buffer {
  std::string name;
  int64_t rows, columns;
  std::string type() const { return formatv("!tile.buffer<{0}x{1}>", rows, columns); }
};

class TileWriter {
public:
  TileWriter(Choices &choices, Case &made) : choices(choices), made(made) {}
  void write();

private:
  std::string fresh() { return "%t" + std::to_string(next++); }
  void line(const std::string &text) { body += std::string(indent, ' ') + text + "\n"; }
  Tile add(int64_t rows, int64_t columns, const std::string &text) {
    Tile tile{fresh(), rows, columns};
    line(tile.name + " = " + text + tile.type());
    tiles.push_back(tile);
    return tile;
  }
  /// The newest few are used most.
  const Tile &any() {
    return tiles[tiles.size() - 1 - choices.below(std::min<int64_t>(tiles.size(), 5))];
  }
  /// A tile of such a shape, 0 for any; null where there is none.
  const Tile *find(int64_t rows, int64_t columns);
  std::string constant(int64_t value);

  void loads(int64_t block);
  void addOp();
  void dot();
  void map();
  void reduce();
  void rearrange();
  void buffers();
  void loop();

  Choices &choices;
  Case &made;
  std::string body;
  int next = 0, indent = 4, depth = 0;
  std::vector<Tile> tiles;
  std::vector<Buffer> made_buffers;
  int64_t widthX = 4, widthY = 4, rowsW = 4, columnsW = 4, block = 16;
};

const Tile *TileWriter::find(int64_t rows, int64_t columns) {
  std::vector<const Tile *> fitting;
  for (size_t i = tiles.size(); i-- > 0 && fitting.size() < 4;)
    if ((!rows || tiles[i].rows == rows) && (!columns || tiles[i].columns == columns))
      fitting.push_back(&tiles[i]);
  return fitting.empty() ? nullptr : fitting[choices.below(int64_t(fitting.size()))];
}

std::string TileWriter::constant(int64_t value) {
  std::string name = "%i" + std::to_string(next++);
  line(formatv("{0} = arith.constant {1} : index", name, value));
  return name;
}

/// A block of the two sequences, as rows or as columns, and the matrix.
void TileWriter::loads(int64_t block) {
  auto sequence = [&](const char *name, const char *head, int64_t width) {
    bool transposed = choices.chance(50);
    add(transposed ? width : block, transposed ? block : width,
        formatv("tile.load %{0}[%batch, %t, %{1}, %c0] valid %valid {{row_dim = 1, col_dim = 3{2}} "
                ": memref<?x?x?x{3}x{4}> -> ",
                name, head, transposed ? ", transposed" : "", width, "$S"));
  };
  sequence("x", "head", widthX);
  sequence("y", "kv_head", widthY);
}

/// A tile is copied where it is used after others may be added.
void TileWriter::dot() {
  Tile lhs = any();
  bool transposed = choices.chance(50);
  int64_t rows = transposed ? lhs.columns : lhs.rows, depth = transposed ? lhs.rows : lhs.columns;
  const Tile *found = find(depth, 0);
  if (!found)
    return;
  Tile rhs = *found;
  std::string attributes = transposed ? "lhs_transposed" : "", text, bound;
  bool hasTriangle = rows == rhs.columns && choices.chance(30);
  std::string triangle = !hasTriangle ? "" : choices.chance(40) ? "upper" : "lower";
  if (hasTriangle)
    attributes += (attributes.empty() ? "" : ", ") + triangle;
  // Positions past the end are zeros or bounded away.
  if (depth == block && choices.chance(30))
    bound = " bound %valid";
  const Tile *sum = hasTriangle ? nullptr : find(rows, rhs.columns);
  std::string accumulator;
  if (sum && choices.chance(30))
    accumulator = " acc " + sum->name + " : " + sum->type();
  text = "tile.dot " + lhs.name + ", " + rhs.name + accumulator + bound +
         (attributes.empty() ? "" : " {" + attributes + "}") + " : " + lhs.type() + ", " +
         rhs.type() + " -> ";
  Tile result = add(rows, rhs.columns, text);
  if (!hasTriangle)
    return;
  // What stands outside of the triangle is anything: nothing may see it.
  tiles.pop_back();
  std::string kept = triangle == "upper" ? " {upper}" : "";
  Tile masked = add(rows, rhs.columns,
                    "tile.causal_mask " + result.name + kept + " : " + result.type() + " -> ");
  const Tile *values = find(rhs.columns, 0);
  if (!values || !choices.chance(60))
    return;
  Tile factor = *values;
  std::string terms = rhs.columns == block && choices.chance(30) ? " bound %valid" : "";
  add(rows, factor.columns,
      "tile.dot " + masked.name + ", " + factor.name + terms + " {" + triangle +
          "_lhs} : " + masked.type() + ", " + factor.type() + " -> ");
}

void TileWriter::map() {
  Tile a = any();
  const Tile *other = choices.chance(50)   ? find(a.rows, a.columns)
                      : choices.chance(50) ? find(1, a.columns)
                                           : find(a.rows, 1);
  Tile b = other ? *other : a;
  const char *f = choices.oneOf(
      {"arith.mulf %u, %v", "arith.addf %u, %v", "arith.subf %u, %v", "arith.maximumf %u, %v"});
  const char *g = choices.oneOf({"", "math.exp", "math.tanh", "arith.negf", "math.absf"});
  Tile result{fresh(), a.rows, a.columns};
  line(formatv("{0} = tile.map {1}, {2} : {3}, {4} -> {5} {{", result.name, a.name, b.name,
               a.type(), b.type(), result.type()));
  line("^bb0(%u: f32, %v: f32):");
  line(formatv("  %r = {0} : f32", f));
  if (*g) { // kept small: a chain of exponentials leaves the numbers of f32
    line("  %s = math.tanh %r : f32");
    line(formatv("  %m = {0} %s : f32", g));
  }
  line(formatv("  tile.yield {0} : f32", *g ? "%m" : "%r"));
  line("}");
  tiles.push_back(result);
}

void TileWriter::reduce() {
  Tile a = any();
  bool rows = choices.chance(50), isMax = choices.chance(30);
  std::string bound =
      !isMax && (rows ? a.rows : a.columns) == block && choices.chance(30) ? " bound %valid" : "";
  if (a.rows == 1 && choices.chance(30)) {
    Tile high{fresh(), 1, a.columns}, low{fresh(), 1, a.columns}, sum{fresh(), 1, a.columns};
    line(
        formatv("{0}, {1} = tile.cumulative_sum {2} : {3}", high.name, low.name, a.name, a.type()));
    // Which part is in which depends on the order of the sum.
    line(formatv("{0} = tile.map {1}, {2} : {3}, {3} -> {3} {{", sum.name, high.name, low.name,
                 sum.type()));
    line("^bb0(%u: f32, %v: f32):");
    line("  %r = arith.addf %u, %v : f32");
    line("  tile.yield %r : f32");
    line("}");
    tiles.push_back(sum);
    return;
  }
  std::string triangle;
  if (a.rows == a.columns && choices.chance(20))
    triangle = choices.chance(40) ? " {upper}" : " {lower}";
  add(rows ? 1 : a.rows, rows ? a.columns : 1,
      formatv("tile.reduce <{0}> <{1}> {2}{3}{4} : {5} -> ", isMax ? "max" : "add",
              rows ? "rows" : "columns", a.name, bound, triangle, a.type()));
}

void TileWriter::rearrange() {
  Tile a = any();
  switch (choices.below(7)) {
  case 5: {
    const Tile *column = find(0, 1);
    if (!column || choices.chance(40)) {
      add(a.rows + a.columns - 1, 1,
          "tile.diagonal_sums " + a.name + (choices.chance(50) ? " {transposed}" : "") + " : " +
              a.type() + " -> ");
      return;
    }
    int64_t columns = choices.between(1, column->rows);
    add(column->rows + 1 - columns, columns,
        "tile.toeplitz " + column->name + (choices.chance(50) ? " {transposed}" : "") + " : " +
            column->type() + " -> ");
    return;
  }
  case 0:
    add(a.columns, a.rows, "tile.transpose " + a.name + " : " + a.type() + " -> ");
    return;
  case 1: {
    int64_t rows = choices.between(1, a.rows), columns = a.columns;
    if (choices.chance(30))
      columns = choices.between(1, a.columns);
    std::string row = constant(choices.between(0, a.rows - rows));
    std::string column = constant(choices.between(0, a.columns - columns));
    add(rows, columns,
        "tile.slice " + a.name + "[" + row + ", " + column + "] : " + a.type() + " -> ");
    return;
  }
  case 2: {
    const Tile *other = find(0, a.columns);
    if (other && other->rows + a.rows <= 64)
      add(a.rows + other->rows, a.columns,
          "tile.concat " + a.name + ", " + other->name + " : " + a.type() + ", " + other->type() +
              " -> ");
    return;
  }
  case 3: {
    std::string rows;
    int64_t count = choices.between(1, std::min<int64_t>(a.rows + 2, 40));
    for (int64_t i = 0; i < count; ++i)
      rows += (i ? ", " : "") + std::to_string(choices.below(a.rows));
    add(count, a.columns,
        "tile.select_rows " + a.name + " {rows = array<i64: " + rows + ">} : " + a.type() + " -> ");
    return;
  }
  case 4: {
    int64_t features = choices.between(1, 20), first = choices.below(3);
    std::string table, weights;
    for (int64_t i = 0; i < features + first; ++i) {
      table +=
          formatv("{0}[{1}, {2}]", i ? ", " : "", choices.below(a.rows), choices.below(a.rows));
      weights += (i ? ", " : "") + number(1 + 0.5 * double(choices.below(3)));
    }
    std::string start = constant(first);
    add(features, a.columns,
        formatv("tile.monomials {0}[{1}] {{table = dense<[{2}]> : tensor<{3}x2xi32>{4}} : {5} -> ",
                a.name, start, table, features + first,
                choices.chance(50) ? ", weights = array<f64: " + weights + ">" : std::string(),
                a.type()));
    return;
  }
  default:
    add(a.rows, a.columns, "tile.constant " + number(choices.oneOf({0.5, 0.0, -1.0, 2.0})) + " : ");
  }
}

/// What is read of a buffer is copied before it may be written again.
void TileWriter::buffers() {
  if (made_buffers.empty())
    return;
  const Buffer &buffer = made_buffers[choices.below(int64_t(made_buffers.size()))];
  auto rowFor = [&](int64_t rows) { return constant(choices.between(0, buffer.rows - rows)); };
  switch (choices.below(3)) {
  case 0: {
    int64_t rows = choices.chance(70) ? buffer.rows : choices.between(1, buffer.rows);
    std::string row = rowFor(rows);
    Tile read{fresh(), rows, buffer.columns};
    line(formatv("{0} = tile.read {1}[{2}] : {3} -> {4}", read.name, buffer.name, row,
                 buffer.type(), read.type()));
    Tile copy{fresh(), rows, buffer.columns};
    line(formatv("{0} = tile.map {1} : {2} -> {3} {{", copy.name, read.name, read.type(),
                 copy.type()));
    line("^bb0(%u: f32):");
    line("  %r = arith.addf %u, %u : f32");
    line("  tile.yield %r : f32");
    line("}");
    tiles.push_back(copy);
    return;
  }
  case 1: {
    for (size_t i = tiles.size(); i-- > 0;)
      if (tiles[i].columns == buffer.columns && tiles[i].rows <= buffer.rows) {
        Tile tile = tiles[i];
        std::string row = rowFor(tile.rows);
        line(formatv("tile.write {0}, {1}[{2}] : {3}, {4}", tile.name, buffer.name, row,
                     tile.type(), buffer.type()));
        return;
      }
    return;
  }
  default:
    for (size_t i = tiles.size(); i-- > 0;) {
      const Tile *rhs = find(tiles[i].columns, buffer.columns);
      if (!rhs || tiles[i].rows > buffer.rows)
        continue;
      Tile lhs = tiles[i], right = *rhs;
      std::string row = rowFor(lhs.rows);
      std::string bound = lhs.columns == block && choices.chance(50) ? " bound %valid" : "";
      std::string factor;
      if (const Tile *one = choices.chance(30) ? find(1, 1) : nullptr)
        factor = " factor " + one->name + " : " + one->type();
      line(formatv("tile.accumulate {0}, {1}, {2}[{3}]{4}{5} : {6}, {7}, {8}", lhs.name, right.name,
                   buffer.name, row, bound, factor, lhs.type(), right.type(), buffer.type()));
      return;
    }
  }
}

/// A loop that gives its next iteration other tiles than it began with.
void TileWriter::loop() {
  if (depth > 0)
    return;
  size_t outside = tiles.size();
  int64_t count = choices.between(1, 2);
  std::vector<Tile> starts, arguments;
  std::string end = constant(choices.between(0, 3)), result = fresh();
  std::vector<std::string> initial, types, yielded;
  for (int64_t i = 0; i < count; ++i) {
    Tile start = any();
    starts.push_back(start);
    arguments.push_back({fresh(), start.rows, start.columns});
    initial.push_back(arguments.back().name + " = " + start.name);
    types.push_back(start.type());
  }
  line(formatv("{0}:{1} = scf.for %n = %c0 to {2} step %c1 iter_args({3}) -> ({4}) {{", result,
               count, end, llvm::join(initial, ", "), llvm::join(types, ", ")));
  ++depth;
  indent += 2;
  tiles.insert(tiles.end(), arguments.begin(), arguments.end());
  for (int64_t i = choices.between(0, 3); i > 0; --i)
    addOp();
  // Two of one shape may change places.
  bool swapped = count == 2 && types[0] == types[1] && choices.chance(30);
  for (int64_t i = 0; i < count; ++i)
    yielded.push_back(swapped ? arguments[1 - i].name
                              : find(starts[i].rows, starts[i].columns)->name);
  line(formatv("scf.yield {0} : {1}", llvm::join(yielded, ", "), llvm::join(types, ", ")));
  indent -= 2;
  --depth;
  line("}");
  tiles.resize(outside);
  for (int64_t i = 0; i < count; ++i)
    tiles.push_back({result + "#" + std::to_string(i), starts[i].rows, starts[i].columns});
}

void TileWriter::addOp() {
  Choices::Group group(choices);
  int64_t family = choices.below(12);
  if (family < 4)
    dot();
  else if (family < 6)
    map();
  else if (family < 7)
    reduce();
  else if (family < 9)
    buffers();
  else if (family < 11)
    rearrange();
  else
    loop();
}

void TileWriter::write() {
  auto width = [&] { return choices.oneOf({4, 1, 2, 3, 8, 16, 17, 33}); };
  widthX = width(), widthY = width(), rowsW = width(), columnsW = width();
  block = choices.oneOf({16, 4, 8, 32, 33, 64, 1, 5});
  const char *storage = choices.chance(25) ? "bf16" : "f32";
  for (int64_t i = choices.below(3); i > 0; --i) {
    made_buffers.push_back({fresh(), width(), width()});
    body += formatv("  {0} = tile.buffer : {1}\n", made_buffers.back().name,
                    made_buffers.back().type());
  }
  indent = 2;
  add(rowsW, columnsW,
      formatv("tile.load %w[%c0, %c0] {{row_dim = 0, col_dim = 1} : memref<{0}x{1}x$S> -> ", rowsW,
              columnsW));
  indent = 4;
  body += formatv("  scf.for %t = %c0 to %length step %block {{\n"
                  "    %left = arith.subi %length, %t : index\n"
                  "    %valid = arith.minsi %left, %block : index\n");
  loads(block);
  for (int64_t i = choices.between(1, 7); i > 0; --i)
    addOp();
  // The newest tile that has a row for each position.
  const Tile *result = nullptr;
  for (const Tile &tile : tiles)
    if (tile.rows == block)
      result = &tile;
  Tile transposed;
  if (!result) {
    for (const Tile &tile : tiles)
      if (tile.columns == block)
        transposed = tile;
    transposed = add(block, transposed.rows,
                     "tile.transpose " + transposed.name + " : " + transposed.type() + " -> ");
    result = &transposed;
  }
  int64_t widthO = result->columns;
  line(formatv("tile.store {0}, %o[%batch, %t, %head, %c0] valid %valid {{row_dim = 1, col_dim = "
               "3} : {1}, memref<?x?x?x{2}xf32>",
               result->name, result->type(), widthO));
  // What is computed is seen: the newest tiles of the last block, and what buffers hold then.
  std::string names = "\"x\", \"y\", \"w\", \"o\"", arguments;
  for (size_t i = 0; i < 3 && i < tiles.size(); ++i) {
    const Tile &tile = tiles[tiles.size() - 1 - i];
    std::string memref = formatv("memref<?x?x{0}x{1}xf32>", tile.rows, tile.columns);
    names += formatv(", \"z{0}\"", i);
    arguments += formatv(", %z{0}: {1}", i, memref);
    line(
        formatv("tile.store {0}, %z{1}[%batch, %head, %c0, %c0] {{row_dim = 2, col_dim = 3} : {2}, "
                "{3}",
                tile.name, i, tile.type(), memref));
  }
  body += "  }\n";
  for (auto [i, buffer] : llvm::enumerate(made_buffers)) {
    names += formatv(", \"s{0}\"", i);
    arguments += formatv(", %s{0}: memref<?x?x{1}x{2}xf32>", i, buffer.rows, buffer.columns);
    body += formatv("  %e{0} = tile.read {1}[%c0] : {2} -> !tile.tile<{3}x{4}xf32>\n"
                    "  tile.store %e{0}, %s{0}[%batch, %head, %c0, %c0] {{row_dim = 2, col_dim = "
                    "3} : !tile.tile<{3}x{4}xf32>, memref<?x?x{3}x{4}xf32>\n",
                    i, buffer.name, buffer.type(), buffer.rows, buffer.columns);
  }
  std::string text = formatv(
      "tile.kernel @kernel programs [dim(0, 0), dim(0, 2)] attributes {{arg_names = [{0}], "
      "num_inputs = 3 : i64} {{\n^bb0(%x: memref<?x?x?x{1}x$S>, %y: memref<?x?x?x{2}x$S>, %w: "
      "memref<{3}x{4}x$S>, %o: memref<?x?x?x{5}xf32>{6}):\n"
      "  %batch = tile.program_id 0 : index\n  %head = tile.program_id 1 : index\n"
      "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
      "  %c2 = arith.constant 2 : index\n"
      "  %heads = memref.dim %x, %c2 : memref<?x?x?x{1}x$S>\n"
      "  %key_heads = memref.dim %y, %c2 : memref<?x?x?x{2}x$S>\n"
      "  %group = arith.divui %heads, %key_heads : index\n"
      "  %kv_head = arith.divui %head, %group : index\n"
      "  %block = arith.constant {7} : index\n  %length = memref.dim %x, %c1 : "
      "memref<?x?x?x{1}x$S>\n{8}}\n",
      names, widthX, widthY, rowsW, columnsW, widthO, arguments, block, body);
  for (size_t at = text.find("$S"); at != std::string::npos; at = text.find("$S"))
    text.replace(at, 2, storage);
  made.text = text;
}

} // namespace

Case polyattn::random::makeTileProgram(Choices &choices) {
  Case made;
  made.isTile = true;
  TileWriter(choices, made).write();
  made.seed = uint64_t(choices.below(1000));
  made.sizes.batch = choices.oneOf({1, 1, 2});
  made.sizes.kvHeads = choices.oneOf({1, 1, 2});
  made.sizes.heads = made.sizes.kvHeads * choices.oneOf({1, 1, 2});
  made.sizes.queries = choices.oneOf({3, 1, 4, 5, 16, 17, 33, 64, 65, 70});
  made.sizes.keys = made.sizes.queries;
  return made;
}
