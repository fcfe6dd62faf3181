// Reads a tarball in two steps: entry by entry, with checks of the types and sizes of entries and of
// the end of the archive (tar_reader.cc); then all entries are checked as a whole
// (tarball_reader.cc), since they may come from another process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/fd.h"
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
/// Fills BUFFER from FILE at OFFSET. Errors: kCorrupt: it is shorter; kIo.
base::Result<void> read_at(int file, std::span<char> buffer, std::uint64_t offset);

/// Creates an unnamed file in FOLDER.
base::Result<base::Fd> make_contents_file(const std::filesystem::path& folder);
/// Checks ENTRIES, whose contents are in CONTENTS: valid and unique names, links, and a meta file
/// that names every file. Errors: kInvalid, kLimit.
base::Result<ChangeSetContent> checked_content(TarballEntries entries, base::Fd contents);

}  // namespace quarry::changes
