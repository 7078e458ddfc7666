//===- TileDialect.cpp - registration and types ---------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Attributes/UnknownOps.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace polyattn::tile;

#include "dialects/Tile/TileDialect.cpp.inc"
#include "dialects/Tile/TileEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.cpp.inc"

namespace {
struct Annotations : polyattn::AnnotationNames {
  using AnnotationNames::AnnotationNames;
  ArrayRef<llvm::StringLiteral> getNames() const override {
    static constexpr llvm::StringLiteral names[] = {kNestAttrName, kPrefetchedByAttrName,
                                                    kScratchBytesAttrName};
    return names;
  }
};
} // namespace

std::optional<Dialect::ParseOpHook> TileDialect::getParseOperationHook(StringRef name) const {
  std::optional<ParseOpHook> registered = Dialect::getParseOperationHook(name);
  return registered ? registered : ParseOpHook(refuseUnknownOp);
}

void TileDialect::initialize() {
  addInterfaces<Annotations>();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
}

static ParseResult parseShape(AsmParser &parser, bool withTrailingX, int64_t &rows,
                              int64_t &columns) {
  SmallVector<int64_t> sizes;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(sizes, /*allowDynamic=*/false, withTrailingX))
    return failure();
  if (sizes.size() != 2)
    return parser.emitError(loc, "expected rows x columns");
  rows = sizes[0];
  columns = sizes[1];
  return success();
}

Type TileType::parse(AsmParser &parser) {
  int64_t rows, columns;
  Type element;
  Layout layout = Layout::Rows;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, /*withTrailingX=*/true, rows, columns) ||
      parser.parseType(element))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    FailureOr<Layout> given = FieldParser<Layout>::parse(parser);
    if (failed(given))
      return {};
    layout = *given;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<TileType>(loc, parser.getContext(), rows, columns, element, layout);
}

void TileType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getColumns() << "x" << getElementType();
  if (getLayout() != Layout::Rows)
    printer << ", " << stringifyLayout(getLayout());
  printer << ">";
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                               int64_t columns, Type elementType, Layout layout) {
  if (rows < 1 || columns < 1)
    return emitError() << "a tile has at least one row and one column";
  if (!isa<Float64Type, Float32Type, BFloat16Type, Float16Type>(elementType))
    return emitError() << "a tile holds f64, f32, bf16 or f16, not " << elementType;
  if (layout == Layout::RowPairs && (elementType.getIntOrFloatBitWidth() != 16 || rows % 2 != 0))
    return emitError() << "pairs of rows have an even number of rows of 16 bits, not " << rows
                       << " rows of " << elementType;
  return success();
}

Type BufferType::parse(AsmParser &parser) {
  int64_t rows, columns;
  if (parser.parseLess() || parseShape(parser, /*withTrailingX=*/false, rows, columns) ||
      parser.parseGreater())
    return {};
  return BufferType::get(parser.getContext(), rows, columns);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getColumns() << ">";
}
