#include <fmt/core.h>

#include <iterator>

#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

void write_lines(const std::vector<Field>& fields, std::string& out) {
  for (const auto& [name, value] : fields) {
    // PHP-FPM spells this one word otherwise here than elsewhere.
    out +=
        fmt::format("{:<21} {}\n", fmt::format("{}:", name == "request uri" ? "request URI" : name),
                    plain_text(value));
  }
}

}  // namespace

std::string text_page(const PoolSnapshot& snapshot, bool is_full) {
  std::string out;
  write_lines(pool_fields(snapshot), out);
  if (!is_full) return out;
  ProcessFields fields(snapshot);
  for (const SlotState& process : snapshot.processes) {
    out += "\n************************\n";
    write_lines(fields.of(process), out);
  }
  return out;
}

}  // namespace quarry::scoreboard
