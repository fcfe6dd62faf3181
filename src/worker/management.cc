#include "management.h"

#include <array>
#include <utility>

#include "head_check.h"

namespace quarry::worker {
namespace {

// Of one process, which is all that somebody at this end of a connection meets.
constexpr auto kValues = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"FCGI_MAX_CONNS", "1"},
    {"FCGI_MAX_REQS", "1"},
    {"FCGI_MPXS_CONNS", "0"},
});

}  // namespace

std::string get_values_result(std::string_view names) {
  std::string content;
  while (const auto name = take_parameter_name(names)) {
    for (const auto& [known, value] : kValues) {
      if (known != *name || content.find(known) != std::string::npos) continue;
      content += static_cast<char>(known.size());
      content += static_cast<char>(value.size());
      content += known;
      content += value;
    }
  }
  const char record[] = {1, 10, 0, 0, 0, static_cast<char>(content.size()), 0, 0};
  return std::string(record, sizeof record) + content;
}

}  // namespace quarry::worker
