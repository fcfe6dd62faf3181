// What a tarball holds, but for the files' contents, as bytes: numbers of 8 bytes, and texts behind
// their lengths.
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

std::string packed(const base::Result<TarballEntries>& entries);

/// What BYTES say, whoever wrote them; CONTENTS bytes of files' contents are there. Errors: theirs;
/// kInvalid: they make no sense.
base::Result<TarballEntries> unpacked(std::string_view bytes, std::uint64_t contents,
                                      const TarballLimits& limits);

}  // namespace quarry::changes
