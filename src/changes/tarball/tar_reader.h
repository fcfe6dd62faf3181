// What lies in a tarball, entry by entry: the kinds of entries, their sizes and the archive's end are
// checked here; what is in the result is checked by tarball_reader.cc, which may be told by another
// process.
#pragma once

#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

struct TarballEntries {
  bool has_meta = false;
  std::string meta;
  /// The files under lroot/, without that, in the archive's order.
  std::vector<SubmittedFile> files;
  /// The folders that stand for themselves, likewise.
  std::vector<std::string> folders;
};

/// Reads TARBALL, and writes the files' contents to CONTENTS, one behind the other. Within
/// Utf8Locale. Errors: kInvalid, kLimit, kNoSpace, kIo.
base::Result<TarballEntries> read_entries(int tarball, const TarballLimits& limits, int contents);

/// BYTES at OFFSET of FILE. Errors: kNoSpace, kIo.
base::Result<void> write_at(int file, std::string_view bytes, std::uint64_t offset);

}  // namespace quarry::changes
