//===- polyattn-compile.cpp - specs to object code ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/Driver/CompileMain.h"

int main(int argc, char **argv) { return polyattn::compileMain(argc, argv); }
