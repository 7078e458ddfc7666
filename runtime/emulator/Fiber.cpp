//===- Fiber.cpp - a thread of a CTA on a stack of its own ----------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fiber.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define POLYATTN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POLYATTN_ASAN 1
#endif
#endif
#ifdef POLYATTN_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

using namespace polyattn::emulator;

static constexpr size_t kGuardBytes = 4096;

/// The fiber that is being started on this thread of the host.
static thread_local Fiber *starting;

#if defined(__x86_64__)
// What a callee must preserve (System V ABI) lies on the stack that is left. Stores the stack
// pointer to the first argument and continues where the second was left.
asm(R"(
.text
.p2align 4
.type polyattn_emu_switch, @function
polyattn_emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size polyattn_emu_switch, .-polyattn_emu_switch
)");
extern "C" void polyattn_emu_switch(void **save, void *load);
#endif

static char *allocateStack() {
  void *memory = mmap(nullptr, kGuardBytes + Fiber::kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
    std::perror("polyattn: no memory for the stacks of emulated threads");
    std::abort();
  }
  return static_cast<char *>(memory) + kGuardBytes;
}

Fiber::~Fiber() {
  if (stack)
    munmap(stack - kGuardBytes, kGuardBytes + kStackBytes);
}

void Fiber::start(void (*newEntry)(void *), void *newArgument) {
  if (!stack)
    stack = allocateStack();
  entry = newEntry;
  argument = newArgument;
  shadowStack = nullptr;
#if defined(__x86_64__)
  // Stacks that begin at equal offsets in their pages would compete for the same lines of caches.
  uintptr_t shift = reinterpret_cast<uintptr_t>(this) / sizeof(Fiber) % 61 * 64;
  void **top = reinterpret_cast<void **>(stack + kStackBytes - 64 - shift);
  *--top = nullptr; // the return address of `enter`, which does not return
  *--top = reinterpret_cast<void *>(&Fiber::enter);
  for (int saved = 0; saved < 6; ++saved)
    *--top = nullptr;
  pointer = static_cast<void *>(top);
#else
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, &Fiber::enter, 0);
#endif
}

void Fiber::enter() {
  Fiber *self = starting;
#ifdef POLYATTN_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &self->hostStack, &self->hostStackBytes);
#endif
  self->entry(self->argument);
  self->pause();
  std::abort();
}

void Fiber::switchTo(bool toFiber) {
#ifdef POLYATTN_ASAN
  __sanitizer_start_switch_fiber(toFiber ? &hostShadowStack : &shadowStack,
                                 toFiber ? stack : hostStack,
                                 toFiber ? kStackBytes : hostStackBytes);
#endif
#if defined(__x86_64__)
  if (toFiber)
    polyattn_emu_switch(&hostPointer, pointer);
  else
    polyattn_emu_switch(&pointer, hostPointer);
#else
  if (toFiber)
    swapcontext(&hostContext, &context);
  else
    swapcontext(&context, &hostContext);
#endif
#ifdef POLYATTN_ASAN
  if (toFiber)
    __sanitizer_finish_switch_fiber(hostShadowStack, nullptr, nullptr);
  else
    __sanitizer_finish_switch_fiber(shadowStack, &hostStack, &hostStackBytes);
#endif
}

void Fiber::resume() {
  starting = this;
  switchTo(true);
}

void Fiber::pause() { switchTo(false); }
