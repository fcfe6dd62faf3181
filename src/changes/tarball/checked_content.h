// Checks the entries read from a tarball and makes the content of a change set from them.
#pragma once

#include <filesystem>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"
#include "tar_reader.h"

namespace quarry::changes {

/// Creates an unnamed file in FOLDER.
base::Result<base::Fd> make_contents_file(const std::filesystem::path& folder);

/// Checks ENTRIES, whose contents are in CONTENTS: valid and unique names, links, and a meta file
/// that names every file. Errors: kInvalid, kLimit.
base::Result<ChangeSetContent> checked_content(TarballEntries entries, base::Fd contents);

}  // namespace quarry::changes
