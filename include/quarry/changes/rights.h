// Who may do what in the change-set queue of a repository: a table, and nothing else decides.
//
// Each deed names capabilities and users (configuration words changes.submit and so on). Who has one
// of the capabilities, or is one of the users, may. Letters imply others as in a sync: `s` all that
// `a` may, `a` what `i` may, `i` what `o` may. What nobody wrote down:
//
//   approve   never one's own; but who may approve may name, when he submits, the reference of an
//             approval that was given elsewhere
//   abandon   one's own is for whoever may submit
//
// Used by workers, before anything is stored, and by the prequeue daemon, which knows the meta file.
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

enum class Deed : std::uint8_t {
  kSubmit,
  kEmergency,  // to submit an EM
  kAuthor,     // to submit in the name of another (##author)
  kApprove,    // another's
  kRollback,   // to submit an RB
  kHold,       // and to release
  kRetry,
  kAbandon,  // another's
  kFreeze,   // a branch, and to thaw it
};
inline constexpr std::size_t kDeeds = 9;
/// As after `changes.` in the configuration: "submit", "emergency", …
std::string_view word_of(Deed deed);

struct Allowed {
  std::string letters;  // capabilities, one of which suffices
  std::vector<std::string> users;

  /// TEXT as the configuration has it: letters and @USERs with blanks or commas between, or `none`.
  /// Error: kInvalid.
  static base::Result<Allowed> parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const Allowed&, const Allowed&) = default;
};

struct Rights {
  /// By deed.
  std::array<Allowed, kDeeds> allowed{Allowed{"i", {}}, Allowed{"a", {}}, Allowed{"a", {}},
                                      Allowed{"a", {}}, Allowed{"a", {}}, Allowed{"a", {}},
                                      Allowed{"a", {}}, Allowed{"a", {}}, Allowed{"a", {}}};

  const Allowed& of(Deed deed) const { return allowed[static_cast<std::size_t>(deed)]; }
  Allowed& of(Deed deed) { return allowed[static_cast<std::size_t>(deed)]; }

  friend bool operator==(const Rights&, const Rights&) = default;
};

/// Who does it.
struct Actor {
  std::string login;
  std::string letters;  // capabilities, with those that he is lent
};

/// Whether ACTOR may do DEED to a change set of SUBMITTER ("" where there is none yet).
bool may(const Rights& rights, Deed deed, const Actor& actor, std::string_view submitter = {});
/// What stands in the way of ACTOR submitting META; nothing: he may.
std::optional<std::string> objection(const Rights& rights, const Meta& meta, const Actor& actor);
/// Of a submission whose move type alone is known.
std::optional<std::string> objection(const Rights& rights, MoveType type, const Actor& actor);

}  // namespace quarry::changes
