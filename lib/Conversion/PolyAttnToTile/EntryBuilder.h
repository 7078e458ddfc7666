//===- EntryBuilder.h - how the kernels of an entry are launched *- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_CONVERSION_ENTRYBUILDER_H
#define POLYATTN_CONVERSION_ENTRYBUILDER_H

#include "KernelFrame.h"
#include "dialects/Tile/Tile.h"

namespace polyattn {

/// Builds the ops inside of an entry.
class EntryBuilder {
public:
  EntryBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc), context(b.getContext()) {}

  tile::ExtentAttr dimension(int64_t tensor, int64_t dimension) {
    return tile::ExtentAttr::dimensionOf(context, tensor, dimension);
  }
  tile::ExtentAttr choice(tile::ExtentBase choice, int64_t plus = 0, int64_t times = 1) {
    return tile::ExtentAttr::choice(context, choice, plus, times);
  }
  tile::ExtentAttr number(int64_t number) { return tile::ExtentAttr::number(context, number); }

  /// A tensor of the kernels that the caller does not have. `leading` are its first sizes; the type
  /// has the others.
  void workspace(const HiddenArgument &tensor, llvm::ArrayRef<tile::ExtentAttr> leading,
                 tile::WorkspaceFill fill = tile::WorkspaceFill::None) {
    llvm::SmallVector<tile::ExtentAttr> shape(leading);
    for (int64_t size : tensor.type.getShape().drop_front(leading.size()))
      shape.push_back(number(size));
    tile::WorkspaceOp::create(b, loc, b.getStringAttr(tensor.name),
                              mlir::TypeAttr::get(tensor.type.getElementType()), list(shape),
                              tile::WorkspaceFillAttr::get(context, fill));
    useAlso(tensor.name);
  }

  /// The next stages take a workspace of a stage before them, too.
  void useAlso(llvm::StringRef name) {
    uses.push_back(mlir::FlatSymbolRefAttr::get(context, name));
  }

  using Uses = llvm::SmallVector<mlir::Attribute>;
  /// Says which workspaces the next stages take, and returns those that they took until now.
  Uses use(Uses next) { return std::exchange(uses, std::move(next)); }

  /// A kernel that takes all workspaces so far.
  tile::StageOp stage(const llvm::Twine &kernel, mlir::ArrayAttr programs,
                      tile::StageRole role = tile::StageRole::Main) {
    auto name = mlir::FlatSymbolRefAttr::get(context, kernel.str());
    return tile::StageOp::create(b, loc, name, tile::StageRoleAttr::get(context, role), programs,
                                 uses.empty() ? mlir::ArrayAttr() : b.getArrayAttr(uses),
                                 mlir::UnitAttr(), mlir::UnitAttr());
  }

  /// Kernels from here on take no workspace that is there already.
  void forgetWorkspaces() { uses.clear(); }

  tile::ChooseOp choose(tile::ExtentBase kind, tile::ExtentAttr of) {
    return tile::ChooseOp::create(b, loc, tile::ExtentBaseAttr::get(context, kind), of,
                                  mlir::IntegerAttr(), mlir::IntegerAttr(), mlir::IntegerAttr(),
                                  mlir::IntegerAttr(), mlir::IntegerAttr(), mlir::IntegerAttr(),
                                  mlir::IntegerAttr());
  }

private:
  mlir::ArrayAttr list(llvm::ArrayRef<tile::ExtentAttr> extents) {
    return b.getArrayAttr(llvm::SmallVector<mlir::Attribute>(extents.begin(), extents.end()));
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::Attribute> uses;
};

} // namespace polyattn

#endif // POLYATTN_CONVERSION_ENTRYBUILDER_H
