#include <fmt/core.h>

#include "quarry/base/split.h"
#include "quarry/changes/directories.h"
#include "sections.h"

namespace quarry::changes {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::size_t kMaxSubmission = std::size_t{8} << 10;

/// The rest of the line of TEXT that begins with NAME and a space.
std::optional<std::string> line_named(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = base::take_until(text, '\n');
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.starts_with(' ')) return std::string(line.substr(1));
  }
  return std::nullopt;
}

}  // namespace

Result<Submission> Submission::parse(std::string_view text) {
  if (text.size() > kMaxSubmission) return fail(ErrorCode::kLimit, "a submission is too long");
  auto submitter = line_named(text, "submitter"), capabilities = line_named(text, "capabilities"),
       address = line_named(text, "address");
  const auto time_text = line_named(text, "time");
  const auto time = time_text ? base::parse_iso(*time_text) : std::nullopt;
  if (!submitter || submitter->empty() || !capabilities || !address || !time) {
    return fail(ErrorCode::kCorrupt,
                "a submission without submitter, capabilities, address or time");
  }
  return Submission{.submitter = std::move(*submitter),
                    .capabilities = std::move(*capabilities),
                    .address = std::move(*address),
                    .time = *time};
}

std::string Submission::text() const {
  return fmt::format("submitter {}\ncapabilities {}\naddress {}\ntime {}\n",
                     one_line(submitter, kMaxName), one_line(capabilities, kMaxName),
                     one_line(address, kMaxName), base::iso_millis(time));
}

}  // namespace quarry::changes
