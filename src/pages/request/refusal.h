// What a visitor is told in place of a page.
#pragma once

#include <optional>
#include <string>

#include "page_request.h"

namespace quarry::pages {

struct Refusal {
  int status = 500;
  std::string text;
  std::string headers = {};
  /// The line of the log, where that is not the text.
  std::string in_log = {};
};

/// What is refused whatever there is: nothing, where REQUEST may go on.
std::optional<Refusal> refused_as_it_is(const PageRequest& request);

/// A reply of our own to a CGI request.
struct OwnReply {
  std::string head;
  std::string body;  // "" for HEAD
};

/// REFUSAL as REQUEST wants it: a page for a browser, for a client of fossil's JSON API what it knows
/// as a failure, a line for others.
OwnReply own_reply(const Refusal& refusal, const PageRequest& request, bool is_json);

}  // namespace quarry::pages
