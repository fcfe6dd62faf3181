// The write transaction of a sync session. It stores received artifacts, settings, unversioned
// files and other data.
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
#include "quarry/base/time.h"
#include "quarry/repository/configuration.h"
#include "quarry/repository/unversioned.h"

namespace quarry::repository {

class Repository;

/// A received artifact.
struct Arrival {
  artifact::HashName name;
  std::string_view payload;  // content, or a delta when delta_source is set
  std::optional<artifact::HashName> delta_source = {};
  /// Whether the payload is in blob format (from a cfile card) instead of plain (from a file card).
  bool is_compressed = false;
  /// The uncompressed size of the whole artifact, if a cfile card declares it. It is compared with
  /// the actual size.
  std::optional<std::uint64_t> declared_size = {};
  bool is_private = false;
};

/// Records that a user is about to commit a child of a check-in.
struct CheckInLock {
  std::string login;       // empty for a client without a login
  std::int64_t since = 0;  // seconds since 1970
};

/// Time after which a check-in lock expires, if the `lock-timeout` setting is not set.
inline constexpr std::int64_t kCheckInLockSeconds = 60;

/// The sender of the stored artifacts. A row of `rcvfrom` is written for the sender only if
/// artifacts are stored.
struct Sender {
  std::int64_t uid = 0;
  std::optional<std::string> login_nonce = {};
  std::string address = {};
  /// The time at which another host of the group received the artifacts. That host has checked its
  /// `hash-policy` setting, so the setting is not checked again. nullopt: now.
  std::optional<base::UnixMillis> received = {};
};

/// Optional callbacks of Receipt::complete().
struct CompletionWatch {
  std::function<void(std::size_t done, std::size_t total)> progress;  // called after each artifact
  std::function<bool()> is_interrupted;
};

/// One write transaction. If a Receipt is destroyed without commit(), the transaction is rolled
/// back. After any function has returned an error, only the destructor may be called.
class Receipt {
 public:
  Receipt(Receipt&&) noexcept;
  ~Receipt();

  /// Sets the sender of all artifacts that are stored after this call.
  void set_sender(Sender sender);
  /// Returns the row of `rcvfrom` for the current sender, or 0 if nothing was stored for it.
  std::int64_t id() const;

  /// Stores the received artifact ARRIVAL. Fails with kInvalid if the content does not match the
  /// hash. Keeps a delta whose source has not arrived yet, fills phantoms, and resolves deltas that
  /// waited for this artifact. If the artifact is already stored or is shunned, ignores it and
  /// returns false.
  Result<bool> store(const Arrival& arrival);

  // A clone stores all artifacts unchecked and checks them together at the end. Therefore, the
  // artifacts can arrive in any order. Use these functions only for a repository that
  // init_for_clone() created and that no other process uses.

  /// Stores ARRIVAL unchecked. If the artifact is already stored or is shunned, ignores it and
  /// returns false. Errors: kLimit, kInvalid (impossible sizes).
  Result<bool> keep(const Arrival& arrival);
  /// Checks all artifacts that keep() stored, then computes the derived tables. Starts threads. If
  /// an artifact is bad, fails with the error that store() returns for it. If WATCH interrupts the
  /// check, fails with kIo.
  Result<void> complete(const CompletionWatch& watch = {});
  /// Adds NAME as a phantom (an artifact that exists elsewhere), unless the repository already has
  /// the name.
  Result<void> add_phantom(const artifact::HashName& name, bool is_private);
  /// Makes the artifact NAME public or private. Only a phantom can be made private.
  Result<void> set_private(const artifact::HashName& name, bool is_private);
  /// Returns whether this receipt has made a private artifact public.
  bool has_published() const;
  /// Sets a row of `config`, or removes it if VALUE is nullopt.
  Result<void> set_config(std::string_view name, std::optional<std::string_view> value);

  /// Stores RECORD in its table, unless the stored row with the same key has the same or a later
  /// mtime. Checks that a setting belongs to an area that can be transferred, but does not check
  /// the sender's rights. Returns whether anything changed.
  Result<bool> merge_config(const ConfigRecord& record);
  /// Stores RECORD in its table, whatever its mtime. Checks the area like merge_config().
  Result<void> replace_config(const ConfigRecord& record);
  /// Deletes the row KEY of TABLE, if it belongs to an area that can be transferred.
  Result<void> remove_config(std::string_view table, std::string_view key);

  /// Locks CHECK_IN for CLIENT, which is about to commit a child of it. If another client holds the
  /// lock, returns that lock instead. ELSEWHERE is the lock of a client of another host.
  Result<std::optional<CheckInLock>> lock_check_in(
      const artifact::HashName& check_in, const std::optional<std::string>& login,
      std::string_view client, const std::optional<CheckInLock>& elsewhere = std::nullopt);
  /// Removes all locks of CLIENT. Returns the names of their check-ins.
  Result<std::vector<std::string>> unlock_check_ins(std::string_view client);

  /// Stores an unversioned file if it is newer than the stored file. The file with the later mtime
  /// is newer. If the mtimes are equal, the file with the greater hash is newer (a deletion has the
  /// lowest hash). An arrival without content can only change the mtime of a stored file with the
  /// same hash. Returns whether anything changed. Errors: kInvalid (the content does not match its
  /// hash), kLimit.
  Result<bool> store_unversioned(const UnversionedArrival& arrival);
  /// Stores an unversioned file with its content, or its deletion, whatever its mtime. Errors: as for
  /// store_unversioned().
  Result<void> replace_unversioned(const UnversionedArrival& arrival);
  /// Removes the row of an unversioned file.
  Result<void> remove_unversioned(std::string_view name);
  /// Removes NAMES from the list of unsent artifacts after they have been sent.
  Result<void> forget_unsent(const std::vector<artifact::HashName>& names);
  /// Sets the password of the user LOGIN, and ends the user's logins on web pages. The project code
  /// must be known. Error: kNotFound.
  Result<void> set_password(std::string_view login, std::string_view password);

  /// Checks that TIP is the tip of BRANCH. TIP then remains the tip until this transaction ends. As
  /// in fossil, the tip is the open public leaf with the latest displayed time, even if the branch
  /// has forked. Returns the number of open leaves of BRANCH. Call this function before anything is
  /// stored. Errors: kConflict (TIP is not the tip, or the branch is closed), kNotFound (no such
  /// branch).
  Result<std::size_t> require_tip(std::string_view branch, const artifact::HashName& tip);

  /// Creates clusters if there are 100 or more unclustered artifacts. Returns the number of
  /// clusters created.
  Result<int> make_clusters();

  /// Updates the derived tables for all stored artifacts, and commits durably (synchronous=FULL).
  Result<void> commit();

 private:
  friend class Repository;
  struct State;
  explicit Receipt(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::repository
