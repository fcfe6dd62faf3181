// The files that a change set is made of: what has changed in an open check-out, or what was named.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::app {

struct ChangedFile {
  std::string name;  // in the repository
  std::filesystem::path path;
  bool is_deletion = false;
};

/// An open check-out.
struct Checkout {
  std::filesystem::path root;
  std::filesystem::path repository;
  std::string check_in;  // that it was made from
};

/// The check-out that FOLDER lies in; nothing: none. Errors: those of ask_fossil().
base::Result<std::optional<Checkout>> checkout_at(const std::filesystem::path& folder);

/// What `fossil commit` would commit in CHECKOUT. Errors: kInvalid: a file is missing, or in
/// conflict.
base::Result<std::vector<ChangedFile>> changes_in(const Checkout& checkout);

/// The files NAMES, each as it is seen from FOLDER; their names in the repository are those below
/// ROOT. AS_DELETIONS: they are to be removed, whether they are there or not. Errors: kNotFound,
/// kInvalid.
base::Result<std::vector<ChangedFile>> files_named(const std::vector<std::string>& names,
                                                   const std::filesystem::path& folder,
                                                   const std::filesystem::path& root,
                                                   bool as_deletions);

/// 'x', 'l' or 0, as the file at PATH is; and its content. Errors: kIo, kInvalid: it is no file.
base::Result<char> permission_of(const std::filesystem::path& path);
base::Result<std::string> content_of(const std::filesystem::path& path);

}  // namespace quarry::app
