#include <fmt/core.h>

#include <algorithm>

#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

std::string content_of(const Value& value) {
  if (const auto* instant = std::get_if<Instant>(&value)) {
    return std::to_string(instant->seconds);
  }
  if (const auto* text = std::get_if<std::string_view>(&value)) return markup_text(*text);
  const auto* histogram = std::get_if<Histogram>(&value);
  if (histogram == nullptr) return plain_text(value);
  std::string out;
  histogram->each_bucket([&](const std::string& bound, std::uint64_t count) {
    out += fmt::format("<bucket le=\"{}\">{}</bucket>", bound, count);
  });
  return out +
         fmt::format("<sum>{}</sum><count>{}</count>", histogram->sum_text(), histogram->count());
}

void write_elements(const std::vector<Field>& fields, std::string_view between, std::string& out) {
  for (const auto& [name, value] : fields) {
    std::string tag(name);
    std::ranges::replace(tag, ' ', '-');
    out.append("<").append(tag).append(">").append(content_of(value));
    out.append("</").append(tag).append(">").append(between);
  }
}

}  // namespace

std::string xml_page(const PoolSnapshot& snapshot, bool is_full) {
  std::string out = "<?xml version=\"1.0\" ?>\n<status>\n";
  write_elements(pool_fields(snapshot), "\n", out);
  if (is_full) {
    out += "<processes>\n";
    ProcessFields fields(snapshot);
    for (const SlotState& process : snapshot.processes) {
      out += "<process>";
      write_elements(fields.of(process), "", out);
      out += "</process>\n";
    }
    out += "</processes>\n";
  }
  return out + "</status>";
}

}  // namespace quarry::scoreboard
