// Reads a tarball in two steps. The first step reads one entry after another, and checks the types
// and sizes of the entries and the end of the archive (tar_reader.cc). The second step checks all
// entries together (tarball_reader.cc). It does not trust the first step, which usually runs in
// another process.
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
  /// The folders below lroot/ that have their own entries, with names relative to it.
  std::vector<std::string> folders;
};

/// Reads TARBALL, and appends the contents of its files to CONTENTS. Requires a Utf8Locale.
/// Errors: kInvalid, kLimit, kNoSpace, kIo.
Result<TarballEntries> read_entries(int tarball, const TarballLimits& limits, int contents);

/// Writes BYTES to FILE at OFFSET. Errors: kNoSpace, kIo.
Result<void> write_at(int file, std::string_view bytes, std::uint64_t offset);
/// Fills BUFFER from FILE at OFFSET. Errors: kCorrupt (the file is too short), kIo.
Result<void> read_at(int file, std::span<char> buffer, std::uint64_t offset);

/// Creates an unnamed file in FOLDER.
Result<base::Fd> make_contents_file(const std::filesystem::path& folder);
/// Checks ENTRIES, whose contents are in CONTENTS. Names must be valid and unique, links must be
/// valid, and the meta file must name every file. Errors: kInvalid, kLimit.
Result<ChangeSetContent> checked_content(TarballEntries entries, base::Fd contents);

}  // namespace quarry::changes
