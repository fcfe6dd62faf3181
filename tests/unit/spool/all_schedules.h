// Runs a scenario in all schedules of its threads within bounds (see scheduled_threading.h).
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "scheduled_threading.h"

namespace quarry::spool {

/// Returns true if $QUARRY_TEST_CASES is set. Long tests then run all schedules instead of a
/// subset.
inline bool is_thorough() {
  return std::getenv("QUARRY_TEST_CASES") != nullptr;
}

inline void in_all(int preemptions, int timeouts, const schedule::Scenario& scenario) {
  const schedule::Outcome outcome = schedule::explore(
      {.preemptions = preemptions, .timeouts = timeouts, .max_schedules = 400000}, scenario);
  std::string choices;
  for (const int choice : outcome.failing_choices) choices += std::to_string(choice) + " ";
  INFO(outcome.failure);
  INFO(outcome.trace);
  INFO("choices: ", choices);
  const std::string seen = std::to_string(outcome.schedules) + " schedules";
  MESSAGE(seen);
  CHECK(outcome.failure == "");
  CHECK(outcome.complete);
  CHECK(outcome.schedules > 20);
}

}  // namespace quarry::spool
