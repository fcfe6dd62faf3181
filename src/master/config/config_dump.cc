#include <fmt/core.h>

#include "directives.h"
#include "quarry/base/ini.h"
#include "quarry/master/config.h"

namespace quarry::master {
namespace {

template <typename Section>
void add_section(std::string& text, std::string_view name, const Section& section) {
  text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", name);
  for (const ShownDirective& directive : shown_directives(section)) {
    for (const std::string& value : directive.values) {
      text += base::ini_line(directive.name, value);
    }
    if (directive.values.empty()) text += fmt::format(";{} =\n", directive.name);
  }
}

}  // namespace

std::string dump(const Config& config) {
  std::string text;
  add_section(text, "global", config.global);
  if (config.http) add_section(text, "http", *config.http);
  for (const PoolConfig& pool : config.pools) add_section(text, pool.name, pool);
  for (const CarriedSection& section : config.carried) add_section(text, section.name, section);
  return text;
}

}  // namespace quarry::master
