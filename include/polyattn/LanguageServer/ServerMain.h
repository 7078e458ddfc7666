//===- ServerMain.h - specs in an editor ------------------------*- C++ -*-===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef POLYATTN_LANGUAGESERVER_SERVERMAIN_H
#define POLYATTN_LANGUAGESERVER_SERVERMAIN_H

namespace polyattn {

/// polyattn-lsp-server: MLIR's language server, which also knows the names of the short form.
int languageServerMain(int argc, char **argv);

} // namespace polyattn

#endif // POLYATTN_LANGUAGESERVER_SERVERMAIN_H
