#include "management.h"

#include <array>
#include <utility>

#include "quarry/http/fastcgi.h"

namespace quarry::worker {
namespace {

// The values for a single process, since a connection is always to a single one.
constexpr auto kValues = std::to_array<std::pair<std::string_view, std::string_view>>({
    {FCGI_MAX_CONNS, "1"},
    {FCGI_MAX_REQS, "1"},
    {FCGI_MPXS_CONNS, "0"},
});

}  // namespace

std::string get_values_result(std::string_view names) {
  std::string content;
  while (const auto asked = http::take_pair(names)) {
    for (const auto& [known, value] : kValues) {
      if (known != asked->name || content.find(known) != std::string::npos) continue;
      http::append_pair(content, known, value);
    }
  }
  std::string record;
  http::append_record(record, FCGI_GET_VALUES_RESULT, FCGI_NULL_REQUEST_ID, content);
  return record;
}

}  // namespace quarry::worker
