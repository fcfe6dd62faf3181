#include "quarry/changes/seen_requests.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "quarry/base/hex.h"
#include "quarry/base/number.h"

namespace quarry::changes {

namespace {

/// Deletes the folders of periods before PERIOD. Failed deletions are retried when the next period
/// begins.
void forget_before(const Directories& directories, std::int64_t period) {
  const auto folder = directories.control("seen");
  const auto names = directories.files().list(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    const auto number = base::parse_number<std::int64_t>(name);
    if (!number || *number >= period) continue;
    std::error_code ignored;
    std::filesystem::remove_all(folder / name, ignored);
  }
}

}  // namespace

Result<bool> is_first_request(const Directories& directories, std::chrono::milliseconds max_skew,
                              std::string_view signature, base::UnixMillis date,
                              base::UnixMillis now) {
  if (signature.empty() || signature.size() > 128 || !base::is_hex(signature)) {
    return fail(ErrorCode::kInvalid, "the signature is not a hexadecimal number");
  }
  const std::int64_t length = 2 * max_skew.count();
  const auto folder = directories.control("seen");
  const auto period = folder / std::to_string(date.value / length);
  base::FileSystem& files = directories.files();
  auto made = files.open(period / signature, base::FileUse::kMake);
  if (!made && made.error().code == ErrorCode::kNotFound) {
    QUARRY_TRY(files.make_folder(folder));
    QUARRY_TRY(files.make_folder(period));
    forget_before(directories, (now.value - max_skew.count()) / length);
    made = files.open(period / signature, base::FileUse::kMake);
  }
  if (made) return true;
  if (made.error().code == ErrorCode::kBusy) return false;
  return std::unexpected(made.error());
}

}  // namespace quarry::changes
