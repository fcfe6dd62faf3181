// What tables of directives are made of.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/result.h"

namespace quarry::master {

/// A word of the configuration, and how it is set in a SECTION.
template <typename Section>
struct Directive {
  std::string_view name;
  base::Result<void> (*set)(Section&, const std::string& value);
};

/// Puts what a value parser found into TARGET.
template <typename Target, typename Parsed>
base::Result<void> put(Target& target, base::Result<Parsed> parsed) {
  if (!parsed) return std::unexpected(std::move(parsed).error());
  // The parsers keep numbers within what their targets hold.
  target = static_cast<Target>(std::move(*parsed));
  return {};
}

}  // namespace quarry::master
