// Unversioned files in a session: files beside the history, of which only the newest content
// counts.
//
//   pragma uv-hash HASH                 the client's hash over all that it has. Where ours differs:
//                                       `pragma uv-push-ok` or, for who may not write them,
//                                       `pragma uv-pull-only`, and the catalogue
//   uvigot NAME MTIME HASH SIZE         an entry of the catalogue, in replies alone; HASH `-`:
//                                       deleted
//   uvfile NAME MTIME HASH SIZE FLAGS   a file, its SIZE bytes after the newline, unless FLAGS
//                                       has 1 (deleted) or 4 (content left out)
//   uvgimme NAME                        asks for one: `uvfile`, or `uvigot` where the reply is full
//
// Reading any of it needs the right to read, writing the right `y`: without it, a uvfile card is
// an error. Used by Exchange.
#pragma once

#include <string_view>

#include "cards/card_reader.h"
#include "cards/card_writer.h"
#include "intake.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "supply.h"
#include "sync_user.h"

namespace quarry::sync {

class Unversioned {
 public:
  /// None is owned; all must outlive this.
  Unversioned(repository::Repository& repository, const SyncUser& sync_user, Intake& intake,
              Supply& supply, CardWriter& writer);

  /// A uvfile card. Errors: kDenied, kInvalid (malformed; the content is not what its hash says),
  /// kLimit.
  base::Result<void> file(const CardReader& card);
  /// A uvgimme card. Errors: kInvalid (no proper name; the client is too old), and what reading
  /// gives.
  base::Result<void> gimme(const CardReader& card);
  /// `pragma uv-hash`: at most one catalogue a request.
  void compare(std::string_view hash);
  /// A clone gets the catalogue unasked where the repository says `uv-sync` and it may read.
  void offer_to_clone();

 private:
  void send_catalogue();

  repository::Repository& repository_;
  const SyncUser& sync_user_;
  Intake& intake_;
  Supply& supply_;
  CardWriter& writer_;
  bool had_catalogue_ = false;
};

}  // namespace quarry::sync
