#include <fmt/core.h>

#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

std::string cell_of(const Value& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return markup_text(*text);
  return plain_text(value);
}

void write_row(const std::vector<Field>& fields, std::string& out) {
  out += "<tr>";
  for (const Field& field : fields) out.append("<td>").append(cell_of(field.value)).append("</td>");
  out += "</tr>\n";
}

void write_processes(const PoolSnapshot& snapshot, std::string& out) {
  ProcessFields fields(snapshot);
  out += "<table border=\"1\">\n<tr>";
  for (const Field& field : fields.of(SlotState{})) {
    out.append("<th>").append(field.name).append("</th>");
  }
  out += "</tr>\n";
  for (const SlotState& process : snapshot.processes) write_row(fields.of(process), out);
  out += "</table>";
}

}  // namespace

std::string html_page(const PoolSnapshot& snapshot, bool is_full) {
  std::string out =
      "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\" "
      "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd\">\n"
      "<html xmlns=\"http://www.w3.org/1999/xhtml\" xml:lang=\"en\" lang=\"en\">\n"
      "<head><title>Quarry Status Page</title></head>\n<body>\n<table>\n";
  for (const auto& [name, value] : pool_fields(snapshot)) {
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, cell_of(value));
  }
  out += "</table>\n";
  if (is_full) write_processes(snapshot, out);
  return out + "</body></html>";
}

}  // namespace quarry::scoreboard
