// Pragmas that are not about artifacts or unversioned files.
//
//   ci-lock CHECK-IN CLIENT   the client is about to commit on CHECK-IN. The answer is
//                             `pragma ci-lock-fail LOGIN MTIME` if another client has said so
//                             before, and `pragma avoid-delta-manifests` if the repository's
//                             setting `forbid-delta-manifests` is on
//   ci-unlock CLIENT          the commit was made or abandoned
//   client-url URL            URL of the client's own repository
//   req-links                 requests URLs of other clones: `pragma link URL JSON MTIME`
//
// The first three need the right to write, the last one needs the right to read; otherwise they are
// ignored. Used by Exchange.
#pragma once

#include <string>
#include <string_view>

#include "cards/card_reader.h"
#include "cards/card_writer.h"
#include "intake.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "sync_user.h"

namespace quarry::sync {

class Pragmas {
 public:
  /// The arguments are not owned, and must outlive this object. OWN_URL is the URL of this
  /// repository, or empty.
  Pragmas(repository::Repository& repository, const SyncUser& sync_user, Intake& intake,
          CardWriter& writer, std::string_view own_url)
      : repository_(repository),
        sync_user_(sync_user),
        intake_(intake),
        writer_(writer),
        own_url_(own_url) {}

  /// Processes a pragma card. Unknown pragmas are ignored. Error: those of storing.
  base::Result<void> read(const CardReader& card);
  /// Call after the last card. Answers req-links with the state after the whole request.
  void finish();

 private:
  base::Result<void> lock(const CardReader& card);
  base::Result<void> unlock(std::string_view client);
  base::Result<void> client_url(std::string_view url);

  repository::Repository& repository_;
  const SyncUser& sync_user_;
  Intake& intake_;
  CardWriter& writer_;
  std::string_view own_url_;
  bool wants_links_ = false;
};

}  // namespace quarry::sync
