// Tags where the order in which a rebuild looks at artifacts counts, each computed anew
// (`tagxref`): which they are is in tag_disputes.cc, what becomes of them in disputed_tags.cc.
//
// Told of every card, and of check-ins and documents that come after what is on or below them.
// Settled when all cards are there; marks the events and leaves that change by that.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "derived/checkins/reparenting.h"
#include "derived/common/work.h"

namespace quarry::repository {

class TagDisputes {
 public:
  /// None is owned.
  TagDisputes(Work& work, Reparenting& reparenting) : work_(work), reparenting_(reparenting) {}

  // All throw SqliteError.

  /// CARD comes, where PRESENT is so far.
  void look_for_dispute(std::int64_t tag, const TagEntry& card,
                        const std::optional<TagEntry>& present);
  /// Two artifacts have cards of one date for TAG on another: the one that is looked at first counts.
  void note_tie(std::int64_t tag);
  /// RID, which is linked with its parent next, has tags or descendants already: marks it as late.
  void note_if_late(Rid rid);
  /// Computes all disputed tags anew.
  void settle_disputes();
  /// Whether there is a disputed tag in the file.
  bool are_there_any();

 private:
  /// RID with all that is above it, or with all that is below it.
  struct Side {
    bool is_above;
    std::vector<Rid> rids;
  };
  /// What is less, but for what has been SEEN; nothing: too many steps.
  std::optional<Side> smaller_side(Rid rid, const std::set<Rid>& seen_above,
                                   const std::set<Rid>& seen_below);
  /// The cards above LATE, or on it, meet those below it, or on it, for the first time. What has
  /// been looked at is in SEEN_….
  void look_for_disputes_around(Rid late, std::set<Rid>& seen_above, std::set<Rid>& seen_below);
  void look_for_disputes_anywhere();
  void look_for_noted();
  void note_overruled(std::int64_t tag, bool is_overruled);
  void note_tied(std::int64_t tag, bool is_tied);
  class Dispute;
  void replay_disputed();

  /// So many control artifacts at once, and tags are computed anew from all cards rather than card
  /// by card.
  static constexpr std::size_t kManyControls = 64;

  Work& work_;
  Reparenting& reparenting_;
  std::set<std::int64_t> disputed_;  // tags
  std::size_t dispute_steps_ = 0;    // see kMostSteps
  bool looks_everywhere_ = work_.pending.controls.size() > kManyControls;
};

}  // namespace quarry::repository
