// What tables of directives are made of: each says once where a value stands, and of what kind it
// is; setting and showing it both follow from that.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

// How a directive finds its value in a section that may be const.
#define QUARRY_FIELD(member) ([](auto& section) -> auto& { return section.member; })

namespace quarry::master {

/// A value as the configuration has it: nothing where it is not set, several of a list.
using Shown = std::vector<std::string>;

/// A word of the configuration, and how it is set and shown in a SECTION.
template <typename Section>
struct Directive {
  /// KIND (kinds.h) puts a value into what FIELD, a lambda without captures, finds.
  template <typename Kind, typename Field>
  constexpr Directive(std::string_view its_name, Kind, Field)
      : name(its_name),
        set([](Section& section, const std::string& value) {
          return Kind::put(Field{}(section), value);
        }),
        show([](const Section& section) { return Shown(Kind::show(Field{}(section))); }),
        is_relative([](std::string_view value) {
          if constexpr (requires { Kind::is_relative(value); }) return Kind::is_relative(value);
          return false;
        }) {}

  std::string_view name;
  base::Result<void> (*set)(Section&, const std::string& value);
  Shown (*show)(const Section&);
  /// Whether a value is the path of a file that does not begin with a slash.
  bool (*is_relative)(std::string_view value);
};

}  // namespace quarry::master
