// Formats a queue and its change sets as text for a terminal, from the JSON that quarry-changes(7)
// describes. A server is not trusted: members that have another type than expected count as
// missing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::app {

/// Parses TEXT, the answer of a queue. Errors: kInvalid if it is not a JSON object.
base::Result<nlohmann::json> document_in(std::string_view text);
/// Returns the string member NAME of DOCUMENT, or "" if there is none.
std::string text_in(const nlohmann::json& document, const char* name);

/// Returns one line for each group of stages, followed by the frozen branches.
std::string status_text(const nlohmann::json& queue);
/// Returns a table of CHANGE_SETS, an array.
std::string list_text(const nlohmann::json& change_sets);
/// Returns text that says how to list the change sets that a list left out; "" if it left out none.
std::string more_text(const nlohmann::json& queue);
std::string change_set_text(const nlohmann::json& change_set);
/// Returns only the history and the output.
std::string log_text(const nlohmann::json& change_set);

}  // namespace quarry::app
