// Tarballs made byte by byte, so that they can be wrong in every way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/fd.h"

/// What an entry's head says; TYPE as tar has it: '0' a file, '1' a hard link, '2' a symbolic link, '3' a
/// device, '5' a folder, '6' a pipe, 'L' GNU's long name, 'x' attributes of pax, 'S' GNU's holes.
struct TarEntry {
  std::string name;
  char type = '0';
  std::string content = {};
  std::string link = {};
  unsigned mode = 0644;
  /// What the head says; by default the content's.
  std::uint64_t size = UINT64_MAX;
};

std::string tar_entry(const TarEntry& entry);
/// The mark at the end of an archive.
std::string tar_end();

std::string gzip(std::string_view bytes);
/// One member of gzip that expands to COUNT bytes of zero.
std::string gzip_zeros(std::size_t count);
std::string zstd(std::string_view bytes);

/// An unlinked file with BYTES.
quarry::base::Fd file_of(std::string_view bytes);
