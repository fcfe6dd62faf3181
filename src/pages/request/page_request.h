// A request for a page: its parameters (quarry/http/parameters.h) and its body.
#pragma once

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

  /// The value of NAME, "" where there is none. Of several the last, as in an environment.
  std::string_view get(std::string_view name) const;
  /// The path below the pool's place in the web server: PATH_INFO, or SCRIPT_NAME where the web
  /// server does not split the two.
  std::string_view path() const;
  /// From now on it is as if the visitor had not said NAME.
  void forget(std::string_view name);
  bool is_head() const;
  /// Whether fossil would take it for a sync, whatever the servers of those think of it.
  bool is_sync() const;
  /// Who asks, and for what, for the log: printable, and without what is nobody's business.
  std::string in_words() const;
};

}  // namespace quarry::pages
