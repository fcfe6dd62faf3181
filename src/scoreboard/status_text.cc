#include <algorithm>

#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

constexpr std::size_t kColumn = 22;  // column of the values, unless the name is longer

void write_lines(const std::vector<Field>& fields, std::string& out) {
  for (const auto& [name, value] : fields) {
    // PHP-FPM writes "URI" in capital letters in this format only.
    out.append(name == "request uri" ? "request URI" : name).append(":");
    out.append(kColumn - std::min(name.size() + 1, kColumn - 1), ' ');
    out.append(plain_text(value)).append("\n");
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
