//===- Operand.cpp - reads the operands of a disassembly ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <cstdlib>
#include <cstring>

using namespace polyattn::gpumodel;

static bool startsWith(const std::string &text, const char *prefix) {
  return text.rfind(prefix, 0) == 0;
}

static bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

/// The number of a register that is named PREFIX and a number, Z or T; -1 for another name.
static int numberOf(const std::string &text, const char *prefix, int zero) {
  size_t length = std::strlen(prefix);
  if (!startsWith(text, prefix) || text.size() <= length)
    return -1;
  char first = text[length];
  if (first == 'Z' || first == 'T')
    return zero;
  return first >= '0' && first <= '9'
             ? static_cast<int>(std::strtol(text.c_str() + length, nullptr, 10))
             : -1;
}

/// `R2.64+UR4+0x10`, without the brackets.
static void readAddress(const std::string &text, Operand &operand) {
  operand.kind = OperandKind::Address;
  bool negative = false;
  for (size_t begin = 0; begin < text.size();) {
    if (text[begin] == '+' || text[begin] == '-') {
      negative = text[begin] == '-';
      ++begin;
      continue;
    }
    size_t end = std::min(text.find_first_of("+-", begin), text.size());
    std::string term = text.substr(begin, end - begin);
    begin = end;
    if (int uniform = numberOf(term, "UR", kZeroRegister); uniform >= 0) {
      operand.uniformIndex = uniform;
      operand.wideUniform = contains(term, ".64");
    } else if (int index = numberOf(term, "R", kZeroRegister); index >= 0) {
      operand.index = index;
      operand.wide = contains(term, ".64");
      operand.scale = contains(term, ".X16")  ? 4
                      : contains(term, ".X8") ? 3
                      : contains(term, ".X4") ? 2
                                              : 0;
    } else {
      int64_t number = std::strtoll(term.c_str(), nullptr, 0);
      operand.offset += negative ? -number : number;
    }
  }
}

/// Takes the signs before an operand and the bars around it off.
static std::string readSigns(std::string text, Operand &operand) {
  while (!text.empty()) {
    bool number = text[0] == '-' && (std::isdigit(static_cast<unsigned char>(text[1])) ||
                                     startsWith(text, "-INF") || startsWith(text, "-QNAN"));
    if (text[0] == '-' && !number)
      operand.negative = true;
    else if (text[0] == '~' || text[0] == '!')
      operand.inverted = true;
    else if (text[0] == '|') {
      operand.absolute = true;
      if (size_t end = text.find('|', 1); end != std::string::npos)
        text.erase(end, 1);
    } else
      return text;
    text.erase(0, 1);
  }
  return text;
}

static Part readPart(const std::string &text) {
  if (contains(text, ".H1"))
    return Part::Half1;
  if (contains(text, ".H0"))
    return Part::Half0;
  for (int byte = 0; byte < 4; ++byte)
    if (contains(text, (".B" + std::to_string(byte)).c_str()))
      return static_cast<Part>(static_cast<int>(Part::Byte0) + byte);
  return Part::Whole;
}

/// Hexadecimal numbers are integers, others are floats.
static bool readImmediate(const std::string &text, uint32_t &bits) {
  if (startsWith(text, "0x") || startsWith(text, "-0x")) {
    bits = static_cast<uint32_t>(std::strtoll(text.c_str(), nullptr, 0));
    return true;
  }
  if (contains(text, "INF")) {
    bits = text[0] == '-' ? 0xff800000u : 0x7f800000u;
    return true;
  }
  if (contains(text, "NAN")) {
    bits = 0x7fffffffu;
    return true;
  }
  char *end = nullptr;
  float number = std::strtof(text.c_str(), &end);
  std::memcpy(&bits, &number, sizeof(bits));
  return end != text.c_str();
}

Operand polyattn::gpumodel::readOperand(const std::string &written) {
  Operand operand;
  if (!written.empty() && written[0] == '`') {
    size_t begin = written.find('(') + 1;
    operand.kind = OperandKind::Label;
    operand.name = written.substr(begin, written.rfind(')') - begin);
    return operand;
  }
  std::string text = readSigns(written, operand);
  auto bracketed = [&](size_t begin) { return text.substr(begin, text.rfind(']') - begin); };
  auto named = [&](const char *prefix, OperandKind kind, int zero, int plus = 0) {
    int number = numberOf(text, prefix, zero);
    if (number < 0)
      return false;
    operand.kind = kind;
    operand.index = number + plus;
    return true;
  };
  if (startsWith(text, "desc[")) {
    readAddress(bracketed(text.find("][") + 2), operand);
  } else if (startsWith(text, "c[")) {
    operand.bank = static_cast<int>(std::strtol(text.c_str() + 2, nullptr, 0));
    readAddress(bracketed(text.find("][") + 2), operand);
    operand.kind = OperandKind::Constant;
  } else if (startsWith(text, "[")) {
    readAddress(bracketed(1), operand);
  } else if (startsWith(text, "SR") || text == "PR") {
    operand.kind = OperandKind::Special;
    operand.name = text;
  } else if (named("UR", OperandKind::Uniform, kZeroRegister) ||
             named("R", OperandKind::Register, kZeroRegister)) {
    operand.part = readPart(text);
    operand.wide = contains(text, ".64");
  } else if (!named("SB", OperandKind::Scoreboard, 0) &&
             !named("UP", OperandKind::Predicate, kTrue, kUniformTrue - kTrue) &&
             !named("P", OperandKind::Predicate, kTrue) && !named("B", OperandKind::Barrier, 0) &&
             readImmediate(text, operand.immediate)) {
    operand.kind = OperandKind::Immediate;
  }
  return operand;
}
