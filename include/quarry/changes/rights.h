// Rights in the change-set queue of a repository. Rights are checked only in this module.
//
// For each right, the configuration (directives changes.submit and so on) names capabilities and
// users. A user has the right if the user has one of these capabilities or is named explicitly. As
// in a sync, some capabilities imply others: `s` implies `a`, `a` implies `i`, `i` implies `o`. Two
// rules are built in:
//
//   approve   users may not approve their own change sets. A user with the right to approve may
//             submit a change set with a reference to an approval that was granted elsewhere, but
//             another user has to approve it in the queue
//   abandon   all users who may submit may abandon their own change sets
//
// Workers check the rights before anything is stored. The prequeue daemon checks them again after
// it has read the meta file, and the executor checks them when a change set lands, because the
// user's capabilities can have changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/change_set.h"

namespace quarry::changes {

enum class Right : std::uint8_t {
  kSubmit,
  kEmergency,  // to submit a change set of type EM
  kAuthor,     // to submit a change set whose author is another user (##author)
  kApprove,    // to approve change sets of others
  kRollback,   // to submit a change set of type RB
  kHold,       // to hold and release change sets
  kRetry,
  kAbandon,  // to abandon change sets of others
  kFreeze,   // to freeze and thaw a branch
};
inline constexpr std::size_t kRights = 9;
/// Returns the name of RIGHT's directive, without the prefix `changes.`: "submit", "emergency", …
std::string_view word_of(Right right);

struct Allowed {
  std::string letters;  // capabilities; one of them is sufficient
  std::vector<std::string> users;

  /// Parses the value of a directive: letters and @USERs, separated by blanks or commas, or `none`.
  /// Error: kInvalid.
  static Result<Allowed> parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const Allowed&, const Allowed&) = default;
};

struct Rights {
  std::array<Allowed, kRights> allowed{Allowed{"i", {}}, Allowed{"a", {}}, Allowed{"a", {}},
                                       Allowed{"a", {}}, Allowed{"a", {}}, Allowed{"a", {}},
                                       Allowed{"a", {}}, Allowed{"a", {}}, Allowed{"a", {}}};

  const Allowed& of(Right right) const { return allowed[static_cast<std::size_t>(right)]; }
  Allowed& of(Right right) { return allowed[static_cast<std::size_t>(right)]; }

  friend bool operator==(const Rights&, const Rights&) = default;
};

/// The user for whom rights are checked.
struct Actor {
  std::string login;
  std::string letters;  // capabilities, including inherited ones
};

/// Returns whether ACTOR has RIGHT to a change set from SUBMITTER. SUBMITTER is empty if the change
/// set does not exist yet.
bool may(const Rights& rights, Right right, const Actor& actor, std::string_view submitter = {});
/// Returns a message for users that WHAT requires RIGHT, with the users that have this right.
std::string not_permitted(std::string_view what, Right right, const Rights& rights);
/// Returns the reason why ACTOR is not allowed to submit META, or nullopt if ACTOR is allowed to.
std::optional<std::string> objection(const Rights& rights, const Meta& meta, const Actor& actor);

}  // namespace quarry::changes
