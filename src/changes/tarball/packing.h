// Serialized entries of a tarball, without the contents of files: 8-byte numbers, and strings
// preceded by their lengths.
//
//   0 HAS-META META FILES (NAME PERMISSION SIZE OFFSET)… FOLDERS NAME…
//   1 ERROR-CODE MESSAGE
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"
#include "tar_reader.h"

namespace quarry::changes {

std::string packed(const Result<TarballEntries>& entries);

/// Parses BYTES, which are not trusted. CONTENTS is the size of the file with the contents. Errors:
/// the error in BYTES, kInvalid (malformed).
Result<TarballEntries> unpacked(std::string_view bytes, std::uint64_t contents,
                                const TarballLimits& limits);

}  // namespace quarry::changes
