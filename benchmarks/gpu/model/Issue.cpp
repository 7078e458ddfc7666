//===- Issue.cpp - issues an instruction of a warp ------------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "Fetch.h"
#include "Simulator.h"
#include <algorithm>

using namespace polyattn::gpumodel;

double Simulator::intervalOf(const Instruction &instruction) const {
  switch (instruction.pipe) {
  case Pipe::ALU:
    return machine.aluInterval;
  case Pipe::FMA:
    return machine.fmaInterval;
  case Pipe::HeavyFMA:
    return machine.fmaHeavyInterval;
  case Pipe::Half:
    return machine.halfInterval;
  case Pipe::Functions:
    return machine.functionsInterval;
  case Pipe::Uniform:
    return machine.uniformInterval;
  case Pipe::Double:
    return machine.doubleInterval;
  case Pipe::Tensor:
    if (whatIf.wgmma)
      return machine.wgmmaInterval;
    // Half the depth takes half as long, but for tf32, whose numbers are twice as wide.
    return machine.mmaInterval *
           (instruction.hasText("1688") && !instruction.has(Modifier::TF32) ? 0.5 : 1);
  default:
    return 1;
  }
}

void Simulator::occupyPipe(SubCore &subCore, const Instruction &instruction, Clock at) const {
  if (instruction.pipe == Pipe::None || instruction.pipe == Pipe::LoadStore)
    return;
  Clock &free = subCore.pipe(instruction.pipe);
  // Intervals of tensor cores may have fractions, which add up.
  bool follows = instruction.pipe == Pipe::Tensor && free > at - 1;
  free = (follows ? free : at) + intervalOf(instruction);
}

/// Of instructions that a scoreboard waits for and that are not memory.
Event Simulator::latencyOf(const Instruction &instruction, Clock at) const {
  if (instruction.operation == Operation::MatrixMultiply)
    return {at + machine.mmaLatency, Cause::Tensor};
  if (instruction.operation == Operation::Fence)
    return {at + machine.fenceLatency, Cause::Other};
  switch (instruction.latency) {
  case Latency::Functions:
    return {at + machine.functionsLatency, Cause::Functions};
  case Latency::Double:
    return {at + machine.doubleLatency, Cause::Functions};
  case Latency::Special:
    return {at + machine.specialLatency, Cause::Other};
  case Latency::Constant:
    return {at + machine.constantLatency, Cause::Constant};
  default:
    return {at + machine.otherLatency, Cause::Other};
  }
}

Completion Simulator::complete(Warp &warp, const Instruction &instruction, Mask mask, Clock at) {
  Multiprocessor &multiprocessor = multiprocessorOf(warp);
  SubCore &subCore = subCoreOf(warp);
  occupyPipe(subCore, instruction, at);
  if (LoadStore::takes(instruction.operation))
    return loadStore.issue(warp, instruction, mask, at, multiprocessor);
  statistics.mma += instruction.operation == Operation::MatrixMultiply;
  if (instruction.operation == Operation::CommitCopies) {
    warp.copyGroups.push_back(warp.openCopies);
    warp.openCopies = 0;
  } else if (instruction.operation == Operation::AwaitCopies) {
    size_t allowed = instruction.operands.size() > 1 ? instruction.operands[1].immediate : 0;
    while (warp.copyGroups.size() > allowed)
      warp.copyGroups.pop_front();
  } else if (mask || instruction.uniform) {
    execute(instruction, warp.registers, mask, warp.identity, static_cast<uint32_t>(at));
  }
  return {latencyOf(instruction, at), at + machine.readLatency};
}

void Simulator::setScoreboards(Warp &warp, const Instruction &instruction,
                               const Completion &completion) {
  auto set = [&](uint8_t scoreboard, Event event) {
    if (scoreboard < warp.scoreboards.size() && event.at > warp.scoreboards[scoreboard].at)
      warp.scoreboards[scoreboard] = event;
  };
  set(instruction.control.writeScoreboard, completion.written);
  set(instruction.control.readScoreboard, {completion.operandsRead, Cause::OperandsRead});
}

void Simulator::fetchNext(Warp &warp, Clock at) {
  if (warp.control.next() >= static_cast<int>(program.instructions.size()))
    throw Failure("a warp runs past the last instruction of the kernel");
  fetch(warp, instructionOf(warp).address, at, multiprocessorOf(warp), machine, statistics);
}

/// Where the warp goes on.
void Simulator::go(Warp &warp, const Instruction &instruction, Mask mask, Clock at) {
  ControlFlow &control = warp.control;
  auto refill = [&] { warp.ready.at = std::max(warp.ready.at, at + machine.branchLatency); };
  auto barrier = [&] { return instruction.operands.at(0).index; };
  switch (instruction.operation) {
  case Operation::Branch:
    for (const Operand &operand : instruction.operands)
      if (operand.kind == OperandKind::Predicate)
        mask &= warp.registers.predicate(operand);
    if (instruction.has(Modifier::DIV) || instruction.has(Modifier::CONV))
      mask = 0;
    if (mask)
      refill();
    control.branch(instruction.target, mask);
    return;
  case Operation::Call:
    refill();
    control.jump(instruction.target);
    return;
  case Operation::Return: {
    refill();
    uint32_t address = warp.registers.raw(instruction.operands.at(0))[firstLane(control.lanes())];
    auto target = program.indexOfAddress.find(address);
    if (target == program.indexOfAddress.end())
      throw Failure("instruction " + instruction.text + " returns to no instruction");
    control.jump(target->second);
    return;
  }
  case Operation::SetReconvergence:
    control.setReconvergence(barrier(), control.lanes());
    control.advance();
    return;
  case Operation::LeaveReconvergence:
    control.leaveReconvergence(barrier(), mask);
    control.advance();
    return;
  case Operation::Reconverge:
    control.reconverge(barrier());
    return;
  case Operation::Exit:
    if (!control.exit(mask))
      finish(warp, at);
    return;
  default:
    control.advance();
  }
}

void Simulator::issue(Warp &warp, Clock at, Cause cause) {
  int index = warp.control.next();
  const Instruction &instruction = program.instructions[index];
  ++statistics.ofInstruction[index].executions;
  statistics.wait(index, cause, at - warp.since);
  warp.since = std::max(warp.since, at);
  Multiprocessor &multiprocessor = multiprocessorOf(warp);
  SubCore &subCore = subCoreOf(warp);
  subCore.changed = true;
  Mask mask = warp.control.lanes();
  if (instruction.guard >= 0) {
    Mask guard = warp.registers.predicateAt(instruction.guard);
    mask &= instruction.guardInverted ? ~guard : guard;
  }
  if (!instruction.isFree) {
    ++statistics.instructions;
    statistics.waits[static_cast<int>(Cause::Issue)] += 1;
    warp.since = at + 1;
    warp.ready = {at + std::max<Clock>(instruction.control.stall, 1), Cause::Stall};
    setScoreboards(warp, instruction, complete(warp, instruction, mask, at));
  } else {
    // It computes, and nothing of the machine is busy.
    Clock unit = multiprocessor.loadStoreFree;
    auto pipes = subCore.pipeFree;
    auto queue = subCore.loadStoreQueue;
    Clock copies = warp.openCopies;
    complete(warp, instruction, mask, at);
    warp.openCopies = copies;
    multiprocessor.loadStoreFree = unit;
    subCore.pipeFree = pipes;
    subCore.loadStoreQueue = std::move(queue);
    warp.ready = {at, Cause::Stall};
  }
  warp.waitsAt = index;
  go(warp, instruction, mask, at);
  if (instruction.operation == Operation::AwaitCTA && !whatIf.noBarriers)
    arriveAtCTA(warp, at);
  else if (instruction.operation == Operation::ArriveCluster) {
    ++warp.clusterArrivals;
    checkCluster(warp.cta, at);
  } else if (instruction.operation == Operation::AwaitCluster)
    awaitCluster(warp);
  if (!warp.hasEnded)
    fetchNext(warp, at);
}
