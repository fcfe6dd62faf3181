// Landing: change sets become check-ins at the tip of a branch, inside the repository. There is no
// working copy, and no lock is held while anything is computed:
//
//   prepare()   looks at the tip, merges, and computes the check-ins, one on top of the other
//   (a gate)    decides over the files of the last of them
//   commit()    takes the write lock, sees that the tip is still that one, and stores all of them in
//               one transaction; where the tip has moved it stores nothing, and all begins anew
//
// The tip is the only open leaf of the branch. Where there are several, since somebody has pushed a
// fork, nothing lands on any of them until a person has joined them: fossil would go on from the
// newest, but that may lack what has landed before on another, which this change set depends on.
//
// A check-in is what fossil's own commit would have made of the same files: a whole manifest (never a
// delta manifest) with an R card where the setting `repo-cksum` is on, artifacts named by the hash
// that `hash-policy` says, dated later than its parent. Besides, it has the tag `cs-CSID`: by this
// card in its own manifest a change set that has landed is known, in the same transaction, whatever
// was lost of the queue's own notes. (The tag has no `sym-`: it is no name that people's lists of
// tags would be full of.)
//
// The files of a change set replace those of the tip. Where it says which check-in it was made from,
// and the tip has another version of a file than that, the two are merged (merge.h).
//
// A rollback takes back check-ins by one check-in: what each changed is merged in reverse, the last
// first, and a Q card names it, as `fossil merge --backout` does. Files that were removed come back
// by their names: fossil's notes of renamed files are not followed.
//
// What it costs, beside the change set itself: the manifest, which grows with the number of files in
// the tree, and the R card, for which the content of every file from the first changed one on is
// hashed. A Lander keeps the tip's manifest and contents, so that this is the hash alone from the
// second landing on; where a tree has more than `kept_contents`, each landing reads it. (That is why
// fossil has the setting.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
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

/// A file as a change set leaves it.
struct ChangedFile {
  std::string name;
  Content content;      // null: it is removed. Of a symbolic link: where it leads
  char permission = 0;  // 'x', 'l' or 0
};

/// What is to become one check-in.
struct LandingOrder {
  ChangeSetId id;
  std::string branch;
  std::string comment;
  std::string author;              // a login; stands in the check-in
  std::string submitter;           // a login; empty: nobody who is known here
  std::string address;             // where he was
  std::string base;                // as CheckIns::named() takes it; empty: the tip
  std::vector<ChangedFile> files;  // none of a rollback
  /// Of a rollback: what has landed, in the order of that.
  struct TakesBack {
    ChangeSetId id;
    std::string submitter;  // who brought its check-in
  };
  std::vector<TakesBack> takes_back;
};

/// Why nothing lands, whatever the machine does.
enum class RefusalKind : std::uint8_t {
  kNoBranch,   // there is none of this name
  kClosed,     // it is closed
  kForked,     // it has several open leaves: somebody has to merge or close one
  kNoBase,     // the base is no check-in, or not one that everybody may see
  kConflict,   // the branch has changed the same
  kNothing,    // the branch has all of it already
  kBadFile,    // a file that cannot be, or that this repository does not take
  kNotLanded,  // a rollback of what has not landed
};

struct Refusal {
  RefusalKind kind = RefusalKind::kBadFile;
  std::string reason;  // a sentence for people
  std::string log;     // what conflicts, in lines; may be empty
};

struct Landed {
  artifact::HashName check_in;
  bool was_there = false;  // since an earlier attempt
};

/// Of one order.
using LandingOutcome = std::expected<Landed, Refusal>;

/// Check-ins that are computed and not stored.
struct Prospect {
  struct Artifact {
    artifact::HashName name;
    std::string payload;  // compressed
    std::optional<artifact::HashName> delta_source;
  };
  struct CheckIn {
    std::size_t order;  // which one it is of
    artifact::HashName name;
    std::vector<Artifact> artifacts;  // the manifest is the last
    std::string tag;
    std::string submitter;
    repository::Sender sender;
  };
  std::string branch;
  std::uint64_t state = 0;                // Repository::state(), of which all this is
  std::optional<artifact::HashName> tip;  // that the first goes on from; nothing: there is no place
  std::vector<CheckIn> check_ins;         // each goes on from the one before
  /// Of every order: what it would be, or why nothing comes of it.
  std::vector<LandingOutcome> outcomes;
  FileTree tree;                                          // after the last check-in
  std::unordered_map<artifact::HashName, Content> added;  // what is not stored yet
  base::UnixMillis date;                                  // of the last check-in
};

/// Decides over a prospect. An error ends the landing, and is its error. No snapshot is open.
using Gate = std::function<base::Result<void>(const Prospect&)>;

struct LandingOptions {
  std::size_t kept_contents = std::size_t{64} << 20;  // bytes
  int attempts = 20;                                  // until the tip has stood still for one
  /// A gate that has passed what was prepared on a tip that has moved since is asked again.
  bool asks_gate_again = true;
};

/// Lands in one repository. Not for several threads.
class Lander {
 public:
  /// REPOSITORY is not owned. No Snapshot or Receipt of it may be alive in any call.
  explicit Lander(repository::Repository& repository, const LandingOptions& options = {});
  ~Lander();
  Lander(const Lander&) = delete;
  Lander& operator=(const Lander&) = delete;

  /// Lands ORDERS, which are of one branch, in this order and all at once; those that are refused are
  /// left out, and the others land without them. One that has landed before is told, and not landed
  /// again. Errors: kBusy (somebody else writes, or the tip does not stand still), kNoSpace, kIo,
  /// kCorrupt, kInvalid (orders of several branches, or what the repository does not take), the gate's: nothing has landed then.
  base::Result<std::vector<LandingOutcome>> land(std::span<const LandingOrder> orders,
                                                 const Gate& gate = nullptr);

  // The steps of land().

  base::Result<Prospect> prepare(std::span<const LandingOrder> orders);
  /// Whether PROSPECT's tip was still that, the branch had not forked, and nothing of it had landed
  /// meanwhile: otherwise nothing is stored.
  base::Result<bool> commit(const Prospect& prospect);

  /// Whether symbolic links are such where people check out, by the setting `allow-symlinks`.
  base::Result<bool> makes_links();
  /// Shows VISIT the files that PROSPECT makes, by name. Errors: those of VISIT, and of contents.
  base::Result<void> visit_tree(const Prospect& prospect, const FileVisitor& visit);
  /// Writes the files that PROSPECT makes into FOLDER. Symbolic links are such where the repository's
  /// setting says so. Errors: those of changes::write_tree().
  base::Result<void> write_tree(const Prospect& prospect, const std::filesystem::path& folder,
                                TreeOptions options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The tag by which a check-in says of what change set it is.
std::string tag_of(const ChangeSetId& id);

}  // namespace quarry::changes
