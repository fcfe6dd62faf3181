// From a tarball's entries, whoever read them, to the content of a change set.
#pragma once

#include <filesystem>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"
#include "tar_reader.h"

namespace quarry::changes {

/// A file without a name in FOLDER.
base::Result<base::Fd> make_contents_file(const std::filesystem::path& folder);

/// ENTRIES, whose contents lie in CONTENTS: names, one thing a name, links, meta file, and that it
/// names every file. Errors: kInvalid, kLimit.
base::Result<ChangeSetContent> checked_content(TarballEntries entries, base::Fd contents);

}  // namespace quarry::changes
