// The directives of a pool for its web pages: `pages` and `pages.…`.
#pragma once

#include <array>

#include "quarry/master/kinds.h"
#include "quarry/pages/options.h"

namespace quarry::app {

/// The program that makes the pages.
struct PagesSource {
  static base::Result<void> put(pages::Source& source, const std::string& value) {
    if (value != "fossil" && value != "off") {
      return base::fail(base::ErrorCode::kInvalid,
                        "it is fossil (its own pages, by a fossil that is run for each) or off");
    }
    source = value == "fossil" ? pages::Source::kFossil : pages::Source::kNone;
    return {};
  }
  static master::Shown show(pages::Source source) {
    return {source == pages::Source::kFossil ? "fossil" : "off"};
  }
};

/// The directives for a SECTION type with a member `pages`.
template <typename Section>
constexpr auto pages_directives() {
  using master::Directive;
  using master::Duration;
  using master::Number;
  using master::Size;
  using master::Text;
  using master::Timeout;
  return std::to_array<Directive<Section>>({
      {"pages", PagesSource(), QUARRY_FIELD(pages.source)},
      {"pages.program", Text(), QUARRY_FIELD(pages.program)},
      {"pages.max_children", Number<1, 1000>(), QUARRY_FIELD(pages.max_children)},
      {"pages.spare_children", Number<0, 1000>(), QUARRY_FIELD(pages.spare_children)},
      {"pages.max_waiting", Number<0, 10000>(), QUARRY_FIELD(pages.max_waiting)},
      {"pages.timeout", Timeout(), QUARRY_FIELD(pages.timeout)},
      {"pages.max_memory", Size(), QUARRY_FIELD(pages.max_memory)},
      {"pages.max_body", Size(), QUARRY_FIELD(pages.max_body)},
      {"pages.max_bodies", Size(), QUARRY_FIELD(pages.max_bodies)},
      {"pages.max_reply", Size(), QUARRY_FIELD(pages.max_reply)},
      {"pages.cache", Size(), QUARRY_FIELD(pages.cache)},
      {"pages.cache_ttl", Duration(), QUARRY_FIELD(pages.cache_ttl)},
      {"pages.priority", Number<0, 19>(), QUARRY_FIELD(pages.nice)},
  });
}

}  // namespace quarry::app
