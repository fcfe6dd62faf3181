// Files that an earlier version has written, by name and in hexadecimal form.
#pragma once

#include <initializer_list>
#include <utility>

#include "memory_file_system.h"
#include "quarry/base/hex.h"

inline MemoryFileSystem::Image image_of(
    std::initializer_list<std::pair<const char*, const char*>> files) {
  MemoryFileSystem::Image image;
  for (const auto& [name, hex] : files) image[name] = quarry::base::from_hex(hex).value();
  return image;
}
