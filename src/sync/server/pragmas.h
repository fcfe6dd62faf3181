// Pragmas that concern neither artifacts nor unversioned files.
//
//   ci-lock CHECK-IN CLIENT   a commit on CHECK-IN is about to be made. Where another client said
//                             so before, `pragma ci-lock-fail LOGIN MTIME` answers. Where the
//                             repository says `forbid-delta-manifests`:
//                             `pragma avoid-delta-manifests`, too
//   ci-unlock CLIENT          … was made, or not
//   client-url URL            where the client's own repository can be reached
//   req-links                 asks for others of the project: `pragma link URL JSON MTIME`
//
// The first three need the right to write, the last that to read; otherwise they say nothing. Used
// by Exchange.
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
  /// None is owned; all must outlive this. OWN_URL is this repository's, or empty.
  Pragmas(repository::Repository& repository, const SyncUser& sync_user, Intake& intake,
          CardWriter& writer, std::string_view own_url);

  /// A pragma card; those of other names are ignored. Error: what storing gives.
  base::Result<void> read(const CardReader& card);
  /// After the last card: what was asked for, as the request has left it.
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
