//===- polyattn-lsp-server.cpp - specs in an editor -----------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/LanguageServer/ServerMain.h"

int main(int argc, char **argv) { return polyattn::languageServerMain(argc, argv); }
