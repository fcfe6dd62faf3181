// Reads a tarball, entry by entry. Checks the types and sizes of entries and the end of the
// archive; the result is checked by tarball_reader.cc, since it may come from another process.
#pragma once

#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

struct TarballEntries {
  bool has_meta = false;
  std::string meta;
  /// The files below lroot/, with names relative to it, in the archive's order.
  std::vector<SubmittedFile> files;
  /// The folders that have entries of their own, likewise.
  std::vector<std::string> folders;
};

/// Reads TARBALL, and appends the contents of its files to CONTENTS. Requires a Utf8Locale.
/// Errors: kInvalid, kLimit, kNoSpace, kIo.
base::Result<TarballEntries> read_entries(int tarball, const TarballLimits& limits, int contents);

/// Writes BYTES to FILE at OFFSET. Errors: kNoSpace, kIo.
base::Result<void> write_at(int file, std::string_view bytes, std::uint64_t offset);

}  // namespace quarry::changes
