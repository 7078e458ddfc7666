//===- Disassembly.cpp - reads the text of a disassembler -----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "Program.h"
#include "TextLine.h"
#include <sstream>

using namespace polyattn::gpumodel;

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (part = trim(part); !part.empty())
      parts.push_back(part);
  return parts;
}

// Bits 105 to 121 of an instruction: stall 4, yield 1, write and read scoreboard 3 each, waits 6.
Control polyattn::gpumodel::readControl(uint64_t upper) {
  auto word = static_cast<uint32_t>(upper >> 41);
  Control control;
  control.stall = word & 15;
  control.writeScoreboard = word >> 5 & 7;
  control.readScoreboard = word >> 8 & 7;
  control.waitMask = word >> 11 & 63;
  return control;
}

/// `@!P0 IMAD.WIDE R2, R3, 0x4, R4`
static Instruction readInstruction(const std::string &line) {
  Instruction instruction;
  instruction.text = line;
  std::string text = line[0] == '{' ? trim(line.substr(1)) : line;
  if (text[0] == '@') {
    size_t end = text.find(' ');
    if (end == std::string::npos)
      throw Failure("no instruction: " + line);
    Operand guard = readOperand(text.substr(1, end - 1));
    instruction.guard = guard.index;
    instruction.guardInverted = guard.inverted;
    text = trim(text.substr(end));
  }
  size_t end = std::min(text.find(' '), text.size());
  std::vector<std::string> name = split(text.substr(0, end), '.');
  if (name.empty())
    throw Failure("no instruction: " + line);
  instruction.mnemonic = name[0];
  instruction.modifiers.assign(name.begin() + 1, name.end());
  for (const std::string &part : split(text.substr(end), ',')) {
    // A label may follow a register without a comma.
    if (size_t label = part.find(" `("); label != std::string::npos) {
      instruction.operands.push_back(readOperand(part.substr(0, label)));
      instruction.operands.push_back(readOperand(part.substr(label + 1)));
    } else {
      instruction.operands.push_back(readOperand(part));
    }
  }
  classify(instruction);
  return instruction;
}

namespace {

/// Goes through the lines of one section.
class Reader {
public:
  Reader(const std::string &kernel) : section(".text." + kernel) {}

  void readLine(const std::string &line) {
    std::string text = trim(line);
    if (text.rfind(".section", 0) == 0) {
      std::string name = trim(text.substr(8));
      inside = name.rfind(section + ",", 0) == 0;
      found |= inside;
      return;
    }
    size_t comment = line.find("/*");
    if (!inside)
      return;
    if (comment == std::string::npos) {
      if (text.size() > 1 && text.back() == ':' && text.rfind("//", 0) != 0)
        pendingLabels.push_back(text.substr(0, text.size() - 1));
      return;
    }
    size_t end = line.find("*/", comment);
    if (end == std::string::npos)
      return;
    std::string first = trim(line.substr(comment + 2, end - comment - 2));
    if (first.rfind("0x", 0) == 0)
      readUpperHalf(std::stoull(first, nullptr, 16));
    else
      readFirstHalf(first, line.substr(end + 2));
  }

  Program finish() {
    if (program.instructions.empty())
      throw Failure("there is no machine code in section " + section +
                    (found ? "" : ", which the disassembly does not have"));
    if (expectsUpperHalf)
      throw Failure("the disassembly ends inside of " + program.instructions.back().text);
    for (Instruction &instruction : program.instructions)
      resolve(instruction);
    return std::move(program);
  }

private:
  void readFirstHalf(const std::string &address, const std::string &rest) {
    size_t end = rest.find(';');
    std::string text = trim(rest.substr(0, end));
    if (end == std::string::npos || text.empty())
      return;
    if (expectsUpperHalf)
      throw Failure("no encoding (nvdisasm -hex) of " + program.instructions.back().text);
    Instruction instruction = readInstruction(text);
    instruction.address = static_cast<uint32_t>(std::stoul(address, nullptr, 16));
    if (size_t hex = rest.find("0x", rest.find("/*", end)); hex != std::string::npos)
      instruction.upperWord =
          static_cast<uint32_t>(std::stoull(rest.substr(hex), nullptr, 16) >> 32);
    for (const std::string &label : pendingLabels)
      labels[label] = instruction.address;
    pendingLabels.clear();
    program.indexOfAddress[instruction.address] = static_cast<int>(program.instructions.size());
    program.instructions.push_back(std::move(instruction));
    expectsUpperHalf = true;
  }

  void readUpperHalf(uint64_t upper) {
    if (!expectsUpperHalf)
      return;
    program.instructions.back().control = readControl(upper);
    expectsUpperHalf = false;
  }

  void resolve(Instruction &instruction) {
    for (const Operand &operand : instruction.operands) {
      if (operand.kind != OperandKind::Label)
        continue;
      auto label = labels.find(operand.name);
      if (label == labels.end())
        continue;
      auto index = program.indexOfAddress.find(label->second);
      instruction.target = index->second;
    }
    bool jumps =
        instruction.operation == Operation::Branch || instruction.operation == Operation::Call;
    if (jumps && instruction.target < 0)
      throw Failure("the target is not in the disassembly: " + instruction.text);
  }

  std::string section;
  bool inside = true, found = false, expectsUpperHalf = false;
  std::vector<std::string> pendingLabels;
  std::unordered_map<std::string, uint32_t> labels;
  Program program;
};

} // namespace

Program polyattn::gpumodel::readDisassembly(const std::string &text, const std::string &kernel) {
  Reader reader(kernel);
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    reader.readLine(line);
  return reader.finish();
}
