#include "view_options.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "quarry/base/number.h"
#include "quarry/http/form.h"
#include "quarry/http/syntax.h"

namespace quarry::worker {
namespace {

/// Returns the number in the parameter NAME, or OTHERWISE if the parameter is missing.
Result<std::size_t> number_in(std::string_view query, std::string_view name,
                              std::size_t otherwise) {
  const auto text = http::form_value(query, name);
  if (text && text->empty()) return otherwise;
  const auto value = text ? base::parse_number<std::uint64_t>(*text) : std::nullopt;
  if (value && *value <= changes::kMaxViewed) return static_cast<std::size_t>(*value);
  return fail(ErrorCode::kInvalid,
              "the parameters limit, waiting and over must be numbers up to {}",
              changes::kMaxViewed);
}

}  // namespace

Result<changes::ViewOptions> view_options_of(std::string_view query) {
  changes::ViewOptions options;
  QUARRY_TRY_ASSIGN(options.max_waiting, number_in(query, "limit", options.max_waiting));
  QUARRY_TRY_ASSIGN(options.max_over, number_in(query, "limit", options.max_over));
  QUARRY_TRY_ASSIGN(options.max_waiting, number_in(query, "waiting", options.max_waiting));
  QUARRY_TRY_ASSIGN(options.max_over, number_in(query, "over", options.max_over));
  auto branch = http::form_value(query, "branch");
  if (!branch) return fail(ErrorCode::kInvalid, "branch: invalid encoding");
  options.branch = std::move(*branch);
  const auto words = http::form_value(query, "state");
  const auto stages = words ? changes::stages_named(*words) : std::nullopt;
  if (!stages) return fail(ErrorCode::kInvalid, "state: " + changes::stages_help());
  options.stages = *stages;
  const auto after = http::form_value(query, "after");
  if (after && after->empty()) return options;
  options.after = after ? changes::Bookmark::parse(*after) : std::nullopt;
  if (options.after) return options;
  return fail(ErrorCode::kInvalid, "after: not the value of \"next\" in an earlier reply");
}

std::string query_with(std::string_view query, std::string_view state, std::string_view after) {
  std::string made;
  for (const std::string_view name : {"limit", "waiting", "over", "branch", "state", "after"}) {
    std::string value = http::form_value(query, name).value_or("");
    if (name == "state" && !state.empty()) value = state;
    if (name == "after") value = after;
    if (value.empty()) continue;
    made += fmt::format("{}{}={}", made.empty() ? "?" : "&", name, http::percent_encode(value));
  }
  return made;
}

}  // namespace quarry::worker
