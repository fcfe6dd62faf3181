// Landing: change sets become check-ins at the tip of a branch, inside the repository. No working
// copy is needed, and no lock is held while check-ins are computed:
//
//   prepare()   finds the tip, merges, and computes the check-ins, one on top of the other
//   (a gate)    accepts or rejects the files of the last check-in
//   commit()    takes the write lock, checks that the tip is still the same, and stores the
//               check-ins in one transaction. If the tip has moved, it stores none, and land()
//               starts again
//
// The tip is the only open leaf of the branch. If there are several, because a fork has been
// pushed, no change set lands until somebody merges them: fossil would continue from the newest
// leaf, which may lack changes that landed on another leaf and on which the change set depends.
//
// A check-in is the same as one that fossil would have committed with these files: a full manifest
// (never a delta manifest), an R card if the setting `repo-cksum` is on, artifacts named according
// to `hash-policy`, and a date later than its parent's. In addition, its manifest has a T card for
// the tag `cs-CSID`, which records in the same transaction that the change set has landed. So this
// is known even if the queue's own files are lost. (The tag has no `sym-` prefix, so it does not
// appear in lists of tags.)
//
// The files of a change set replace those of the tip. If the change set names its base check-in,
// and a file has changed between the base and the tip, the two versions are merged (merge.h).
//
// A rollback is one check-in that rolls back others. The changes of each are merged in reverse,
// beginning with the last check-in, and a Q card names each, as `fossil merge --backout` does.
// Deleted files reappear under their old names; fossil's records of renames are ignored.
//
// Apart from the change set itself, the costs are the manifest, which grows with the number of
// files in the tree, and the R card, which hashes the content of every file from the first changed
// one on. A Lander caches the manifest and the contents of the tip, so the second and later
// landings only have to hash. If the tree is larger than `kept_contents`, each landing has to read
// it again. (This cost is why fossil lets projects turn off the R card.)
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

/// A file as changed by a change set.
struct ChangedFile {
  std::string name;
  Content content;      // null if the file is deleted; for a symbolic link, its target
  char permission = 0;  // 'x', 'l' or 0
};

/// A change set to land as one check-in.
struct LandingOrder {
  ChangeSetId id;
  std::string branch;
  std::string comment;
  std::string author;              // login; the user of the check-in
  std::string submitter;           // login; empty if not a user of this repository
  std::string address;             // address of the submitter
  std::string base;                // as accepted by CheckIns::named(); empty for the tip
  std::vector<ChangedFile> files;  // the changed files; empty for a rollback
  /// For a rollback: the landed change sets, in order of landing.
  struct LandedChangeSet {
    ChangeSetId id;
    std::string submitter;  // the user who submitted it
  };
  std::vector<LandedChangeSet> rolls_back;
};

/// Why a change set cannot land, apart from system errors.
enum class RefusalKind : std::uint8_t {
  kNoBranch,   // the branch does not exist
  kClosed,     // the branch is closed
  kForked,     // the branch has several open leaves: somebody has to merge or close them
  kNoBase,     // the base is not a check-in, or is private
  kConflict,   // the branch has conflicting changes
  kNothing,    // the branch already contains all its changes
  kBadFile,    // a file with a bad name or content, or one that this repository does not accept
  kNotLanded,  // a change set to roll back has not landed
};

struct Refusal {
  RefusalKind kind = RefusalKind::kBadFile;
  std::string reason;  // one sentence
  std::string log;     // the conflicts, line by line; may be empty
};

struct Landed {
  artifact::HashName check_in;
  bool was_there = false;  // an earlier attempt had already stored it
};

/// The outcome of one order.
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
    repository::Sender sender;
  };
  std::string branch;
  std::uint64_t state = 0;  // the Repository::state() from which it was computed
  std::optional<artifact::HashName>
      tip;                         // the parent of the first check-in; nullopt if no order can land
  std::vector<CheckIn> check_ins;  // the parent of each is the previous one
  /// For each order: the check-in, or the reason why there is none.
  std::vector<LandingOutcome> outcomes;
  FileTree tree;                                          // all files after the last check-in
  std::unordered_map<artifact::HashName, Content> added;  // contents that are not stored yet
  base::UnixMillis date;                                  // date of the last check-in
};

/// Accepts or rejects a prospect. An error ends the landing and is returned. No snapshot is open.
using Gate = std::function<base::Result<void>(const Prospect&)>;

struct LandingOptions {
  std::size_t kept_contents = std::size_t{64} << 20;  // bytes
  int attempts = 20;                                  // maximum number of attempts while the tip
                                                      // keeps moving
  /// Whether the gate is asked again if the tip has moved since it accepted the check-ins.
  bool asks_gate_again = true;
};

/// Lands change sets in one repository. Not thread-safe.
class Lander {
 public:
  /// REPOSITORY is not owned. No Snapshot or Receipt of it may exist during any call.
  explicit Lander(repository::Repository& repository, const LandingOptions& options = {});
  ~Lander();
  Lander(const Lander&) = delete;
  Lander& operator=(const Lander&) = delete;

  /// Lands ORDERS, which are for one branch, in this order and in one transaction. Refused orders
  /// are skipped, and the others land without them. Orders that have landed before do not land
  /// again, and their outcome says so. Errors: kBusy (another process is writing, or the tip keeps
  /// moving), kNoSpace, kIo, kCorrupt, kInvalid (orders of several branches, or something that the
  /// repository does not accept), those of the gate. After an error, no order has landed.
  base::Result<std::vector<LandingOutcome>> land(std::span<const LandingOrder> orders,
                                                 const Gate& gate = nullptr);

  // land() consists of these steps.

  base::Result<Prospect> prepare(std::span<const LandingOrder> orders);
  /// Stores PROSPECT. Returns false without storing it if its tip has moved, the branch has forked,
  /// or any of its change sets has landed meanwhile.
  base::Result<bool> commit(const Prospect& prospect);

  /// Whether check-outs have real symbolic links (the setting `allow-symlinks`).
  base::Result<bool> makes_links();
  /// Calls VISIT for each file of PROSPECT, sorted by name. Errors: those of VISIT and of reading
  /// contents.
  base::Result<void> visit_tree(const Prospect& prospect, const FileVisitor& visit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The tag that marks a check-in as the one of the change set ID.
std::string tag_of(const ChangeSetId& id);

}  // namespace quarry::changes
