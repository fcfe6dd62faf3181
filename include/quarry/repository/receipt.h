// What a sync session tells a repository: one write transaction, in which artifacts, settings and
// whatever else came is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/repository/configuration.h"
#include "quarry/repository/unversioned.h"

namespace quarry::repository {

class Repository;

/// How an artifact arrives.
struct Arrival {
  artifact::HashName name;
  std::string_view payload;  // content, or a delta when delta_source is set
  std::optional<artifact::HashName> delta_source;
  /// The payload is in blob format (a cfile card) rather than plain (a file card).
  bool is_compressed = false;
  /// For cfile cards: the declared uncompressed size of the whole artifact. Checked when set.
  std::optional<std::uint64_t> declared_size;
  bool is_private = false;
};

/// Who said that a commit on a check-in is about to be made.
struct CheckInLock {
  std::string login;       // empty: somebody without one
  std::int64_t since = 0;  // seconds since 1970
};

/// How long such a word counts, where the setting `lock-timeout` does not say it.
inline constexpr std::int64_t kCheckInLockSeconds = 60;

/// Who sent what a Receipt stores; becomes a row of `rcvfrom`, and only if something is stored.
struct Sender {
  std::int64_t uid = 0;
  std::optional<std::string> login_nonce;
  std::string address;
};

/// Who waits for Receipt::complete(). Either may be empty.
struct CompletionWatch {
  std::function<void(std::size_t done, std::size_t total)> progress;  // of artifacts
  std::function<bool()> is_interrupted;
};

/// One write transaction. Destroyed without commit(), it leaves no trace. After an error from any
/// function the only thing left to do is to destroy it.
class Receipt {
 public:
  Receipt(Receipt&&) noexcept;
  ~Receipt();

  /// What is stored from now on comes from SENDER.
  void set_sender(Sender sender);

  /// Stores an artifact that came: verifies its hash (kInvalid when wrong), keeps deltas whose
  /// source has not come, fills phantoms, resolves deltas that waited for this one. An artifact
  /// that is there already, or is shunned, is left alone (returns false).
  base::Result<bool> store(const Arrival& arrival);

  // A clone has everything looked at once, at its end, where the order in which it comes costs
  // nothing: only for a repository that init_for_clone() made, and that nobody else sees.

  /// Puts ARRIVAL in as it came, its content unseen. What is there already, or is shunned, is left
  /// alone (returns false). Errors: kLimit, kInvalid (sizes that cannot be).
  base::Result<bool> keep(const Arrival& arrival);
  /// Looks at all that was kept: the errors of store() are those of the first that is wrong. Then
  /// computes the derived tables. Starts threads. Ends with kIo once WATCH says so.
  base::Result<void> complete(const CompletionWatch& watch = {});
  /// Makes NAME known as an artifact that exists elsewhere, if it is not known yet.
  base::Result<void> add_phantom(const artifact::HashName& name, bool is_private);
  /// NAME, private here, becomes public (or the other way round, for phantoms only).
  base::Result<void> set_private(const artifact::HashName& name, bool is_private);
  /// Sets or (nothing) removes a row of `config`.
  base::Result<void> set_config(std::string_view name, std::optional<std::string_view> value);

  /// Puts RECORD into its table where there is none of its key, or one with an earlier mtime.
  /// Nothing is checked but that a setting may travel. Returns whether anything changed.
  base::Result<bool> merge_config(const ConfigRecord& record);

  /// CLIENT is about to commit on CHECK_IN. Returns who else said so before, and still holds it.
  base::Result<std::optional<CheckInLock>> lock_check_in(const artifact::HashName& check_in,
                                                         const std::optional<std::string>& login,
                                                         std::string_view client);
  /// CLIENT is about to commit on nothing any more.
  base::Result<void> unlock_check_ins(std::string_view client);

  /// Stores what came where it is newer than what is there: the later mtime wins, of two equal ones
  /// the greater hash (a deletion has the least). Returns whether anything changed. What has its
  /// content left out changes nothing but the mtime of that very content. Errors: kInvalid (the
  /// content is not what its hash says), kLimit.
  base::Result<bool> store_unversioned(const UnversionedArrival& arrival);
  /// NAMES are sent: they are unsent no longer.
  base::Result<void> forget_unsent(const std::vector<artifact::HashName>& names);
  /// Gives the user LOGIN another password; the project code must be known. Error: kNotFound.
  base::Result<void> set_password(std::string_view login, std::string_view password);

  /// From here on it is certain that check-ins go on from TIP: that TIP is the tip of BRANCH now,
  /// in this write transaction. The tip is the newest open leaf of the branch by the time that is
  /// shown, as fossil has it: where the branch has forked, the later leaf of the two. What is
  /// private does not count. Call before anything is stored. Errors: kConflict (the tip is another
  /// one, or the branch is closed), kNotFound (there is no such branch).
  base::Result<void> require_tip(std::string_view branch, const artifact::HashName& tip);

  /// Makes clusters where 100 or more unclustered artifacts call for them. Returns how many.
  base::Result<int> make_clusters();

  /// Computes the derived tables for what was stored and makes it durable (synchronous=FULL).
  base::Result<void> commit();

 private:
  friend class Repository;
  struct State;
  explicit Receipt(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::repository
