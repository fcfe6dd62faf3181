// Landing stores change sets as check-ins at the tip of a branch. It does not need a working copy,
// and does not hold a lock while it computes check-ins:
//
//   prepare()   finds the tip, merges, and computes the check-ins, one on top of the other
//   (a gate)    accepts or rejects the files of the last check-in
//   commit()    takes the write lock, checks that the tip is still the same, and stores the
//               check-ins in one transaction. If the tip has moved, commit() stores nothing,
//               and land() starts again. With a Fence, the other hosts know the check-ins before the
//               transaction is committed
//
// The tip is the only open leaf of the branch. If a fork has been pushed, the branch has several
// open leaves. Then no change set lands until a user merges the leaves. Fossil itself continues
// from the newest leaf, but this leaf might lack changes that landed on another leaf and on which
// the change set depends.
//
// The check-in of a change set is the same as if fossil had committed the changed files. It has a
// full manifest (never a delta manifest), an R card if the `repo-cksum` setting is on, artifact
// names according to `hash-policy`, and a date later than its parent's. In addition, its manifest
// has a T card for the tag `cs-CSID`. The tag is stored in the same transaction as the check-in. It
// shows that the change set has landed, even if the files of the queue are lost. (The tag does not
// have the prefix `sym-`, so it does not appear in lists of tags.)
//
// If a change set has a base (base_finder.h), each of its files that has changed between the base
// and the tip is merged (merge.h). All its other files replace the files of the tip.
//
// As in fossil, a renamed file has its old name in its F card. The branch's changes of the old file
// are merged into the renamed file. The P card names the check-ins that the change set has merged
// with their branches. Q cards name the check-ins that it has cherrypicked or backed out.
//
// A rollback is one check-in that rolls back other check-ins. As with `fossil merge --backout`,
// their changes and renames are merged in reverse, beginning with the last check-in, and each of
// them is named in a Q card.
//
// The time of a landing depends on the change set and on the size of the tree. The manifest lists
// every file in the tree. The R card is a checksum over all files in name order, so the contents of
// the first changed file and of all files after it have to be added again. A Lander caches the
// manifest and the contents of the tip, so that later landings do not have to read them. If the
// tree is larger than `kept_contents`, each landing has to read it again. (Projects that want to
// avoid this cost can turn off the R card.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/change_set.h"
#include "quarry/changes/tree.h"
#include "quarry/repository/receipt.h"
#include "quarry/repository/repository.h"

namespace quarry::changes {

struct ChangedFile {
  std::string name;
  Content content;         // null if the file is deleted; for a symbolic link: its target
  char permission = 0;     // 'x', 'l' or 0
  std::string prior = {};  // if the file is renamed: its name in the base
};

/// A change set to land as one check-in.
struct LandingOrder {
  ChangeSetId id;
  std::string branch;
  std::string comment;
  std::string author;              // login; the user of the check-in
  std::string submitter;           // login, or name of a local user; may be empty
  std::string address;             // address of the submitter
  std::string base;                // a name for CheckIns::named(); empty for the tip
  std::vector<ChangedFile> files;  // the changed files; empty for a rollback
  std::vector<MergedCheckIn> merges = {};
  /// A landed change set. If this order is a rollback, `rolls_back` lists the change sets to roll
  /// back.
  struct LandedChangeSet {
    ChangeSetId id;
    std::string submitter;  // the user who submitted it
  };
  std::vector<LandedChangeSet> rolls_back;
  /// Returns the reason why the submitter is no longer allowed to land the change set, or nullopt.
  /// This function is called within a snapshot. If the repository has changed, it is called again
  /// within the transaction that stores the check-in. May be empty.
  std::function<std::optional<std::string>()> objection = {};
};

/// The reasons why a change set cannot land, except system errors.
enum class RefusalKind : std::uint8_t {
  kNoBranch,      // the branch does not exist
  kClosed,        // the branch is closed
  kForked,        // the branch has several open leaves, which have to be merged or closed
  kNoBase,        // the base or a merged check-in does not exist or is private
  kConflict,      // the branch has conflicting changes
  kNothing,       // the branch already contains all changes
  kBadFile,       // the name or content of a file is invalid or not accepted
  kNotLanded,     // a change set to roll back has not landed
  kNotPermitted,  // the submitter is no longer allowed to land it
};

struct Refusal {
  RefusalKind kind = RefusalKind::kBadFile;
  std::string reason;  // one sentence
  std::string log;     // the conflicting lines; may be empty
};

struct Landed {
  artifact::HashName check_in;
  bool was_there = false;  // an earlier attempt had already stored it
};

using LandingOutcome = std::expected<Landed, Refusal>;

/// Check-ins that are computed but not stored.
struct Prospect {
  struct Artifact {
    artifact::HashName name;
    std::string payload;  // compressed
    std::optional<artifact::HashName> delta_source;
  };
  struct CheckIn {
    std::size_t order;  // index in the orders
    artifact::HashName name;
    std::vector<Artifact> artifacts;  // the last one is the manifest
    std::string tag;
    std::string submitter;
    std::function<std::optional<std::string>()> objection = {};  // see LandingOrder
    repository::Sender sender;
  };
  std::string branch;
  std::uint64_t state = 0;  // Repository::state() at the start of the computation
  std::optional<artifact::HashName>
      tip;                         // the parent of the first check-in; nullopt if no order can land
  std::vector<CheckIn> check_ins;  // the parent of each check-in is the previous check-in
  /// For each order: the check-in, or the reason why it is refused.
  std::vector<LandingOutcome> outcomes;
  FileTree tree;                                          // all files after the last check-in
  std::unordered_map<artifact::HashName, Content> added;  // contents that are not stored yet
  base::UnixMillis date;                                  // date of the last check-in
};

/// Accepts or rejects a prospect. If the gate returns an error, the landing fails with this error.
/// Called while no Snapshot exists.
using Gate = std::function<Result<void>(const Prospect&)>;

/// Publishes the check-ins of a replicated repository to the other hosts before they are committed
/// here. No check-in lands beside changes of other hosts that are not yet in this repository.
class Fence {
 public:
  virtual ~Fence() = default;
  /// Called in the transaction that has stored the check-ins. Returns true if they are published, or
  /// false if other changes came first. After an error, they might be published; the repository then
  /// receives them from the other hosts.
  virtual Result<bool> publish(repository::Repository& repository) = 0;
  /// Called after publish() has returned false, while no transaction is open. Waits until the changes
  /// of other hosts are in the repository.
  virtual Result<void> catch_up() = 0;
};

struct LandingOptions {
  std::size_t kept_contents = std::size_t{64} << 20;  // bytes
  int attempts = 20;                                  // maximum number of attempts
  /// Whether the gate is called again if the tip has moved after the gate accepted the check-ins.
  bool asks_gate_again = true;
  std::shared_ptr<Fence> fence = {};  // null if the repository is not replicated
};

/// Lands change sets in one repository. Not thread-safe.
class Lander {
 public:
  /// REPOSITORY is not owned. Do not call any function of this class while a Snapshot or Receipt of
  /// REPOSITORY exists.
  explicit Lander(repository::Repository& repository, const LandingOptions& options = {});
  ~Lander();
  Lander(const Lander&) = delete;
  Lander& operator=(const Lander&) = delete;

  /// Lands ORDERS, which are for one branch, in this order and in one transaction. Refused orders
  /// are skipped, and the other orders land. Orders that have already landed do not land again (see
  /// Landed::was_there). Errors: kBusy (another process is writing, or the tip keeps moving),
  /// kNoSpace, kIo, kCorrupt, kInvalid (orders for several branches, or data that the repository
  /// does not accept), kConflict (the fence), errors from the gate. After an error, no order has landed,
  /// except perhaps on other hosts (kConflict). Later calls then find it.
  Result<std::vector<LandingOutcome>> land(std::span<const LandingOrder> orders,
                                           const Gate& gate = nullptr);

  // The steps of land().

  Result<Prospect> prepare(std::span<const LandingOrder> orders);
  /// Stores PROSPECT. Stores nothing and returns false if the tip has moved, the branch has forked,
  /// any of the change sets has already landed, or a submitter is no longer allowed to land it.
  Result<bool> commit(const Prospect& prospect);

  /// Returns whether check-outs have real symbolic links (the `allow-symlinks` setting).
  Result<bool> makes_links();
  /// Calls VISIT for each file of PROSPECT, sorted by name. Passes on errors from VISIT and from
  /// reading contents.
  Result<void> visit_tree(const Prospect& prospect, const FileVisitor& visit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the tag that marks the check-in of the landed change set ID.
std::string tag_of(const ChangeSetId& id);

}  // namespace quarry::changes
