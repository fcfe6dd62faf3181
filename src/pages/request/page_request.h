// A request for a page: its parameters (quarry/http/parameters.h) and its body. This header also
// defines a refusal, which is an error reply instead of the page.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/event_handles.h"

namespace quarry::pages {

struct Parameter {
  std::string name;
  std::string value;
};

struct PageRequest {
  std::vector<Parameter> parameters;
  base::EventBufferPtr body;  // never null

  /// Returns the value of NAME, or "" if it is missing. If NAME occurs several times, returns the
  /// last value, as in an environment.
  std::string_view get(std::string_view name) const;
  /// Returns the path below the pool's URL in the web server: PATH_INFO, or SCRIPT_NAME if the web
  /// server does not split the path.
  std::string_view path() const;
  /// Returns the path and query as the client sent them, or path() if the web server does not pass
  /// them on.
  std::string_view target() const;
  void forget(std::string_view name);
  /// Replaces all values of the parameter NAME with VALUE.
  void replace(std::string_view name, std::string value);
  /// Replaces the body with TEXT, which has the content type TYPE.
  void replace_body(std::string type, std::string_view text);
  bool is_head() const;
  /// Returns whether fossil would treat the request as a sync, even if Quarry's sync server would
  /// not.
  bool is_sync() const;
  /// Returns the client, method and path for the log: printable and without secrets.
  std::string in_words() const;
};

struct Refusal {
  int status = 500;
  std::string text;
  std::string headers = {};
  /// The text for the log, if it differs from the text for the client.
  std::string in_log = {};
};

/// Performs the checks that do not depend on a repository. Returns nullopt if REQUEST is
/// acceptable.
std::optional<Refusal> refuse_request(const PageRequest& request);

}  // namespace quarry::pages
