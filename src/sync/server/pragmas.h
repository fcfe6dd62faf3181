// Pragmas that are not about artifacts or unversioned files.
//
//   ci-lock CHECK-IN CLIENT   the client is about to commit a child of CHECK-IN. If another
//                             client holds the lock, the reply has `pragma ci-lock-fail LOGIN
//                             MTIME`. If the `forbid-delta-manifests` setting is on, the reply
//                             also has `pragma avoid-delta-manifests`. SharedLocks extends the lock
//                             to the clients of other hosts
//   ci-unlock CLIENT          the client has finished or abandoned the commit
//   client-url URL            URL of the client's own repository
//   req-links                 requests URLs of other clones: `pragma link URL JSON MTIME`
//
// The first three pragmas need the right to write, and `req-links` needs the right to read. Without
// the right, the pragma is ignored. Used by Exchange.
#pragma once

#include <string_view>

#include "cards/card_reader.h"
#include "cards/card_writer.h"
#include "intake.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"
#include "sync_user.h"

namespace quarry::sync {

class Pragmas {
 public:
  /// The arguments are not owned, and must outlive this object. OWN_URL is the URL of this
  /// repository, or empty. LOCKS can be null.
  Pragmas(repository::Repository& repository, const SyncUser& sync_user, Intake& intake,
          CardWriter& writer, SharedLocks* locks, std::string_view own_url)
      : repository_(repository),
        sync_user_(sync_user),
        intake_(intake),
        writer_(writer),
        locks_(locks),
        own_url_(own_url) {}

  /// Processes a pragma card. Ignores unknown pragmas. Passes on errors from storing.
  Result<void> read(const CardReader& card);
  /// Call after the last card. Answers req-links with the state after the whole request.
  void finish();

 private:
  Result<void> lock(const CardReader& card);
  Result<void> unlock(std::string_view client);
  Result<void> client_url(std::string_view url);

  repository::Repository& repository_;
  const SyncUser& sync_user_;
  Intake& intake_;
  CardWriter& writer_;
  SharedLocks* locks_;
  std::string_view own_url_;
  bool wants_links_ = false;
};

}  // namespace quarry::sync
