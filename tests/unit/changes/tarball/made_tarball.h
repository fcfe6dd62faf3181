// Tarballs made byte by byte, so that they can be invalid in every way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/fd.h"

/// The header of an entry. TYPE is as in tar: '0' a file, '1' a hard link, '2' a symbolic link, '3'
/// a device, '5' a folder, '6' a pipe, 'L' GNU's long name, 'x' pax attributes, 'S' GNU's sparse
/// file.
struct TarEntry {
  std::string name;
  char type = '0';
  std::string content = {};
  std::string link = {};
  unsigned mode = 0644;
  /// The size in the header; by default that of the content.
  std::uint64_t size = UINT64_MAX;
};

std::string tar_entry(const TarEntry& entry);
/// The end marker of an archive.
std::string tar_end();

std::string gzip(std::string_view bytes);
/// A gzip member that expands to COUNT zero bytes.
std::string gzip_zeros(std::size_t count);
std::string zstd(std::string_view bytes);

/// An unlinked file that contains BYTES.
quarry::base::Fd file_of(std::string_view bytes);
