//===- BuildIdentity.cpp - which build this process runs ------------------===//
//
// Part of polyattn, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "polyattn/JIT/BuildIdentity.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <elf.h>
#include <link.h>

using namespace polyattn;

static const char *addressOf(const dl_phdr_info &image, const ElfW(Phdr) & segment) {
  return reinterpret_cast<const char *>(image.dlpi_addr + segment.p_vaddr);
}

static llvm::ArrayRef<ElfW(Phdr)> segmentsOf(const dl_phdr_info &image) {
  return {image.dlpi_phdr, image.dlpi_phnum};
}

/// The description of the note "GNU", NT_GNU_BUILD_ID.
static llvm::StringRef findBuildId(llvm::StringRef notes, uint64_t alignment) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes.data(), sizeof note);
    uint64_t description = llvm::alignTo(sizeof note + note.n_namesz, alignment);
    uint64_t end = llvm::alignTo(description + note.n_descsz, alignment);
    if (description + note.n_descsz > notes.size())
      return "";
    if (note.n_type == NT_GNU_BUILD_ID &&
        notes.substr(sizeof note, note.n_namesz) == llvm::StringRef(ELF_NOTE_GNU, 4))
      return notes.substr(description, note.n_descsz);
    notes = notes.drop_front(std::min<uint64_t>(end, notes.size()));
  }
  return "";
}

static std::string identityOf(const dl_phdr_info &image) {
  for (const ElfW(Phdr) &segment : segmentsOf(image)) {
    if (segment.p_type != PT_NOTE)
      continue;
    llvm::StringRef notes(addressOf(image, segment), segment.p_memsz);
    llvm::StringRef id = findBuildId(notes, segment.p_align == 8 ? 8 : 4);
    if (!id.empty())
      return llvm::toHex(id, /*LowerCase=*/true);
  }
  // Relocations change writable segments only.
  std::string hashes;
  for (const ElfW(Phdr) &segment : segmentsOf(image))
    if (segment.p_type == PT_LOAD && (segment.p_flags & (PF_R | PF_W)) == PF_R)
      hashes += llvm::utohexstr(
          llvm::xxh3_64bits(llvm::StringRef(addressOf(image, segment), segment.p_filesz)));
  return hashes;
}

static bool contains(const dl_phdr_info &image, const void *address) {
  return llvm::any_of(segmentsOf(image), [&](const ElfW(Phdr) & segment) {
    const char *begin = addressOf(image, segment);
    return segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz;
  });
}

using Visitor = llvm::function_ref<void(const dl_phdr_info &)>;

static void forEachImage(Visitor visit) {
  dl_iterate_phdr(
      [](dl_phdr_info *image, size_t, void *visitor) {
        (*static_cast<Visitor *>(visitor))(*image);
        return 0;
      },
      &visit);
}

std::string polyattn::imageIdentity(const void *address) {
  std::string result;
  forEachImage([&](const dl_phdr_info &image) {
    if (contains(image, address))
      result = identityOf(image);
  });
  return result;
}

const std::string &polyattn::buildIdentity() {
  static const std::string identity = [] {
    std::string result = "LLVM " LLVM_VERSION_STRING " ";
    result += imageIdentity(reinterpret_cast<const void *>(&buildIdentity));
    forEachImage([&](const dl_phdr_info &image) {
      llvm::StringRef name = llvm::sys::path::filename(image.dlpi_name);
      if (name.starts_with("libLLVM") || name.starts_with("libMLIR"))
        result += " " + identityOf(image);
    });
    return result;
  }();
  return identity;
}
