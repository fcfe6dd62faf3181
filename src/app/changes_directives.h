// The directives of a pool for its change-set queues: `changes` and `changes.…`. quarryd reads
// these directives from its configuration, and quarry-changes accepts them on the command line with
// `--set`.
#pragma once

#include <array>
#include <string>

#include "quarry/changes/options.h"
#include "quarry/master/kinds.h"

namespace quarry::app {

/// The options for these directives, without the other options of a pool.
struct QueueDirectiveOptions {
  changes::PoolOptions changes = {};
};

/// A list of move types, or "none".
struct MoveTypes {
  using Value = std::array<bool, changes::kMoveTypes>;
  static Result<void> put(Value& target, const std::string& value) {
    QUARRY_TRY_ASSIGN(target, changes::parse_move_types(value));
    return {};
  }
  static master::Shown show(const Value& types) { return {changes::text_of(types)}; }
};

/// A list of users for a permission.
struct AllowedUsers {
  static Result<void> put(changes::Allowed& target, const std::string& value) {
    QUARRY_TRY_ASSIGN(target, changes::Allowed::parse(value));
    return {};
  }
  static master::Shown show(const changes::Allowed& allowed) { return {allowed.text()}; }
};

/// Whether a gate's verdict is still accepted after the branch has moved on.
struct StaleVerdict {
  static Result<void> put(bool& is_accepted, const std::string& value) {
    if (value != "again" && value != "accept") {
      return fail(ErrorCode::kInvalid,
                  "must be \"again\" (run the gate again) or \"accept\" (keep the verdict)");
    }
    is_accepted = value == "accept";
    return {};
  }
  static master::Shown show(bool is_accepted) { return {is_accepted ? "accept" : "again"}; }
};

/// The directives for the type SECTION, which must have a member `changes`.
template <typename Section>
constexpr auto changes_directives() {
  using changes::Right;
  using master::Directive;
  using master::Duration;
  using master::Number;
  using master::Path;
  using master::Size;
  using master::Switch;
  using master::Text;
  using master::Timeout;
  return std::to_array<Directive<Section>>({
      {"changes", Switch(), QUARRY_FIELD(changes.is_enabled)},
      {"changes.base", Path(), QUARRY_FIELD(changes.base)},
      {"changes.max_size", Size(), QUARRY_FIELD(changes.max_size)},
      {"changes.max_expanded", Size(), QUARRY_FIELD(changes.max_expanded)},
      {"changes.children", Number<1, 100>(), QUARRY_FIELD(changes.children)},
      {"changes.batch", Number<0, 100>(), QUARRY_FIELD(changes.batch)},
      {"changes.max_crashes", Number<1, 100>(), QUARRY_FIELD(changes.rules.max_crashes)},
      {"changes.max_put_off", Number<0, 10000>(), QUARRY_FIELD(changes.rules.max_deferrals)},
      {"changes.retry_delay", Timeout(), QUARRY_FIELD(changes.rules.retry_delay)},
      {"changes.max_rollback", Number<1, 1000>(), QUARRY_FIELD(changes.rules.max_rollback)},
      {"changes.keep", Duration(), QUARRY_FIELD(changes.rules.keep)},
      {"changes.scan", Timeout(), QUARRY_FIELD(changes.scan)},
      {"changes.needs_approval", MoveTypes(), QUARRY_FIELD(changes.rules.needs_approval)},
      {"changes.gate", Path(), QUARRY_FIELD(changes.gate.program)},
      {"changes.gate_user", Text(), QUARRY_FIELD(changes.gate.user)},
      {"changes.gate_read", Text(), QUARRY_FIELD(changes.gate.readable)},
      {"changes.gate_sandbox", Switch(), QUARRY_FIELD(changes.gate.is_sandboxed)},
      {"changes.gate_stale", StaleVerdict(), QUARRY_FIELD(changes.gate.accepts_stale)},
      {"changes.gate_timeout", Timeout(), QUARRY_FIELD(changes.gate.timeout)},
      {"changes.gate_memory", Size(), QUARRY_FIELD(changes.gate.memory)},
      {"changes.gate_disk", Size(), QUARRY_FIELD(changes.gate.disk)},
      {"changes.gate_processes", Number<1, 100000>(), QUARRY_FIELD(changes.gate.processes)},
      {"changes.submit", AllowedUsers(), QUARRY_FIELD(changes.rights.of(Right::kSubmit))},
      {"changes.emergency", AllowedUsers(), QUARRY_FIELD(changes.rights.of(Right::kEmergency))},
      {"changes.author", AllowedUsers(), QUARRY_FIELD(changes.rights.of(Right::kAuthor))},
      {"changes.approve", AllowedUsers(), QUARRY_FIELD(changes.rights.of(Right::kApprove))},
      {"changes.rollback", AllowedUsers(), QUARRY_FIELD(changes.rights.of(Right::kRollback))},
      {"changes.hold", AllowedUsers(), QUARRY_FIELD(changes.rights.of(Right::kHold))},
      {"changes.retry", AllowedUsers(), QUARRY_FIELD(changes.rights.of(Right::kRetry))},
      {"changes.abandon", AllowedUsers(), QUARRY_FIELD(changes.rights.of(Right::kAbandon))},
      {"changes.freeze", AllowedUsers(), QUARRY_FIELD(changes.rights.of(Right::kFreeze))},
  });
}

}  // namespace quarry::app
