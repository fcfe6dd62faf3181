// A queue and its change sets as text for a terminal, made from the JSON that quarry-changes(7)
// describes. A server is not trusted: members that are missing or have another type count as absent.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::app {

/// Parses TEXT, an answer of a queue. Error: kInvalid: not a JSON object.
base::Result<nlohmann::json> document_in(std::string_view text);
/// The string member NAME of DOCUMENT; "" if there is none.
std::string text_in(const nlohmann::json& document, const char* name);

/// One line for each group of stages, then the frozen branches.
std::string status_text(const nlohmann::json& queue);
/// A table of CHANGE_SETS, an array.
std::string list_text(const nlohmann::json& change_sets);
/// How to list the change sets that a list left out; "" if there are none.
std::string more_text(const nlohmann::json& queue);
std::string change_set_text(const nlohmann::json& change_set);
/// Only the history and the output.
std::string log_text(const nlohmann::json& change_set);

}  // namespace quarry::app
