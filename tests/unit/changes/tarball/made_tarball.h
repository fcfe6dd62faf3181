// Builds tarballs byte by byte. Tests can therefore build invalid tarballs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/fd.h"

/// The header of an entry. TYPE is a type flag of the tar format: '0' file, '1' hard link, '2'
/// symbolic link, '3' device, '5' folder, '6' pipe, 'L' long name (GNU), 'x' attributes (pax), 'S'
/// sparse file (GNU).
struct TarEntry {
  std::string name;
  char type = '0';
  std::string content = {};
  std::string link = {};
  unsigned mode = 0644;
  /// The size in the header. The default is the size of the content.
  std::uint64_t size = UINT64_MAX;
};

std::string tar_entry(const TarEntry& entry);
/// Returns the two empty blocks that end an archive.
std::string tar_end();

std::string gzip(std::string_view bytes);
/// Returns a gzip member that expands to COUNT zero bytes.
std::string gzip_zeros(std::size_t count);
std::string zstd(std::string_view bytes);

/// Returns a descriptor of an unlinked file that contains BYTES.
quarry::base::Fd file_of(std::string_view bytes);
