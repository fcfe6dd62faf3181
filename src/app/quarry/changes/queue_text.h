// Formats a queue and its change sets as text for a terminal. The input is the JSON that
// quarry-changes(7) describes. The JSON is not trusted: a member with an unexpected type counts as
// missing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::app {

/// Parses TEXT, the answer of a queue. Errors: kInvalid if it is not a JSON object.
Result<nlohmann::json> document_in(std::string_view text);
/// Returns the string member NAME of DOCUMENT, or "" if it is missing.
std::string text_in(const nlohmann::json& document, const char* name);

/// Returns one line for each group of stages, followed by the reason if the queue has stopped, and
/// by the frozen branches.
std::string status_text(const nlohmann::json& queue);
/// Returns a table of CHANGE_SETS, an array.
std::string list_text(const nlohmann::json& change_sets);
/// Returns a hint on how to list the omitted change sets; "" if the list is complete.
std::string more_text(const nlohmann::json& queue);
std::string change_set_text(const nlohmann::json& change_set);
/// Returns the history and the output, without other fields.
std::string log_text(const nlohmann::json& change_set);

}  // namespace quarry::app
