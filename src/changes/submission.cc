#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <utility>

#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/triggers.h"
#include "sections.h"

namespace quarry::changes {

namespace {

constexpr std::size_t kMaxSubmission = std::size_t{8} << 10;

/// Returns the rest of the line in TEXT that begins with NAME and a space, or nullopt if there is
/// none.
std::optional<std::string> line_named(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = base::take_until(text, '\n');
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.starts_with(' ')) return std::string(line.substr(1));
  }
  return std::nullopt;
}

/// Returns the name of this host, without characters that are not allowed in the name of a change
/// set.
std::string host_part() {
  std::array<char, 256> name{};
  const bool is_known = ::gethostname(name.data(), name.size() - 1) == 0;
  const std::string part = is_known ? name_part(name.data()) : std::string();
  return part.empty() ? "localhost" : part;
}

}  // namespace

Result<Submission> Submission::parse(std::string_view text) {
  if (text.size() > kMaxSubmission) return fail(ErrorCode::kLimit, "the submission is too long");
  auto submitter = line_named(text, "submitter"), capabilities = line_named(text, "capabilities"),
       address = line_named(text, "address");
  const auto time_text = line_named(text, "time");
  const auto time = time_text ? base::parse_iso(*time_text) : std::nullopt;
  const auto receipt_text = line_named(text, "receipt");
  const auto receipt =
      receipt_text ? base::parse_number<std::int64_t>(*receipt_text) : std::nullopt;
  if (!submitter || submitter->empty() || !capabilities || !address || !time) {
    return fail(ErrorCode::kCorrupt,
                "the submission lacks submitter, capabilities, address or time");
  }
  return Submission{.submitter = std::move(*submitter),
                    .capabilities = std::move(*capabilities),
                    .address = std::move(*address),
                    .time = *time,
                    .receipt = receipt,
                    .is_local = line_named(text, "local").has_value()};
}

std::string Submission::text() const {
  return fmt::format(
      "submitter {}\ncapabilities {}\naddress {}\ntime {}\n{}{}", one_line(submitter, kMaxName),
      one_line(capabilities, kMaxName), one_line(address, kMaxName), base::iso_millis(time),
      receipt ? fmt::format("receipt {}\n", *receipt) : "", is_local ? "local yes\n" : "");
}

Result<void> make_folders(Directories& directories) {
  // Check all folders, because another process might be creating them at the moment.
  for (std::size_t i = 0; i < kStages; ++i) {
    std::error_code error;
    if (std::filesystem::is_directory(directories.folder(static_cast<Stage>(i)), error)) continue;
    // Also create the parent folder, which might not exist yet if the repository is in a subfolder.
    std::filesystem::create_directories(directories.base().parent_path(), error);
    return directories.make();
  }
  return {};
}

Result<ChangeSetName> submit(Directories& directories, MoveType type, const Submission& submission,
                             const std::function<Result<void>(base::File& file)>& write) {
  QUARRY_TRY(make_folders(directories));
  const ChangeSetName name{.id = ChangeSetId::random(),
                           .tai = tai64n(submission.time),
                           .pid = ::getpid(),
                           .host = host_part(),
                           .type = type,
                           .extra = name_part(submission.submitter)};
  QUARRY_TRY_ASSIGN(auto file, directories.begin(name));
  if (auto written = write(*file); !written) {
    directories.give_up(name);
    return std::unexpected(std::move(written).error());
  }
  QUARRY_TRY(directories.submit(name, std::move(file), submission));
  pull(directories.control(""), Trigger::kPrequeue);
  return name;
}

}  // namespace quarry::changes
