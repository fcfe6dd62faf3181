#include "filter.h"

#include <algorithm>
#include <variant>

namespace quarry::courier {

bool is_for(const DestinationOptions& destination, const event::Event& event) {
  const bool is_hook = std::holds_alternative<event::Hook>(event.record);
  const bool is_hooks = destination.type == DestinationType::kHooks;
  if (is_hook || is_hooks) return is_hook && is_hooks;
  const bool is_notice = std::holds_alternative<event::Notice>(event.record);
  // A test names its destination; the filters do not apply.
  if (const auto* test = std::get_if<event::Test>(&event.record)) {
    return test->destination == destination.name;
  }
  if (is_notice != destination.is_to_submitter()) return false;
  const auto any_covers = [](const std::vector<std::string>& patterns, std::string_view name) {
    return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& each) {
             return event::covers(each, name);
           });
  };
  const auto& head = event.head;
  return (is_notice || any_covers(destination.events, event::type_of(event))) &&
         any_covers(destination.repositories, head.repository) &&
         (any_covers(destination.projects, head.project_code) ||
          any_covers(destination.projects, head.project_name));
}

}  // namespace quarry::courier
