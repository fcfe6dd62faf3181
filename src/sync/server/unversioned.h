// The exchange of unversioned files in a session.
//
//   pragma uv-hash HASH                 the client's hash over all its files. If the server's hash
//                                       differs, the reply has the catalogue, and `pragma
//                                       uv-push-ok` or (without the right to write) `pragma
//                                       uv-pull-only`
//   uvigot NAME MTIME HASH SIZE         an entry of the catalogue, in replies only; HASH is
//                                       `-` if the file is deleted
//   uvfile NAME MTIME HASH SIZE FLAGS   a file, with SIZE bytes after the newline, unless
//                                       FLAGS has 1 (deleted) or 4 (content left out)
//   uvgimme NAME                        requests a file. The reply has `uvfile`, or `uvigot` if the
//                                       reply is full
//
// All these cards need the right to read. Writing needs the right `y`; without this right, a uvfile
// card is an error. Used by Exchange.
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
  /// The arguments are not owned, and must outlive this object.
  Unversioned(repository::Repository& repository, const SyncUser& sync_user, Intake& intake,
              Supply& supply, CardWriter& writer)
      : repository_(repository),
        sync_user_(sync_user),
        intake_(intake),
        supply_(supply),
        writer_(writer) {}

  /// Processes a uvfile card. Errors: kDenied, kInvalid (malformed, or the content does not match
  /// its hash), kLimit.
  Result<void> file(const CardReader& card);
  /// Processes a uvgimme card. Errors: kInvalid (invalid name, or the client is too old), errors
  /// from reading.
  Result<void> gimme(const CardReader& card);
  /// Processes `pragma uv-hash HASH`. Sends the catalogue if HASH differs from the server's hash,
  /// but at most once per request.
  void compare(std::string_view hash);
  /// Sends the catalogue to a client that clones, although the client has not requested it. Does
  /// nothing if the repository's `uv-sync` setting is off or the user does not have the right to
  /// read.
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
