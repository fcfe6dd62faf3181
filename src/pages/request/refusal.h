// Error replies in place of a page.
#pragma once

#include <optional>
#include <string>

#include "page_request.h"

namespace quarry::pages {

struct Refusal {
  int status = 500;
  std::string text;
  std::string headers = {};
  /// The text for the log, if it differs.
  std::string in_log = {};
};

/// Checks that do not depend on a repository. Nullopt: REQUEST may proceed.
std::optional<Refusal> refused_as_it_is(const PageRequest& request);

/// The header block and body of a CGI reply.
struct OwnReply {
  std::string head;
  std::string body;  // "" for HEAD
};

/// REFUSAL in the form that suits REQUEST: a page for a browser, a failure of fossil's JSON API if
/// IS_JSON, otherwise a line of text.
OwnReply own_reply(const Refusal& refusal, const PageRequest& request, bool is_json);

}  // namespace quarry::pages
