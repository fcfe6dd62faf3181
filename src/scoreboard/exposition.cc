#include "quarry/scoreboard/exposition.h"

#include <fmt/core.h>

#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

constexpr std::string_view kTotal = "_total";

/// Appends TEXT with backslashes and quotation marks escaped. TEXT must not contain newlines.
void append_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

}  // namespace

std::string_view Exposition::content_type_of(Form form) {
  return form == Form::kText ? "text/plain; version=0.0.4; charset=utf-8"
                             : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  family_ = name;
  if (form_ == Form::kOpenMetrics && name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
  out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void Exposition::begin_line(Labels labels, std::string_view suffix) {
  out_.append(family_).append(suffix);
  char separator = '{';
  for (const auto& [name, value] : labels) {
    out_ += separator;
    out_.append(name).append("=\"");
    append_escaped(line_text(value), out_);
    out_ += '"';
    separator = ',';
  }
  out_ += labels.size() > 0 ? "} " : " ";
}

void Exposition::sample(Labels labels, std::uint64_t value, std::string_view suffix) {
  begin_line(labels, suffix);
  out_ += fmt::format("{}\n", value);
}

void Exposition::seconds(Labels labels, std::uint64_t microseconds, std::string_view suffix) {
  begin_line(labels, suffix);
  out_ += fmt::format("{}.{:06}\n", microseconds / 1'000'000, microseconds % 1'000'000);
}

std::string Exposition::take() {
  if (form_ == Form::kOpenMetrics) out_ += "# EOF\n";
  return std::move(out_);
}

}  // namespace quarry::scoreboard
