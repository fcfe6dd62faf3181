// The exchange of configuration in a session: settings, users, reports and shunned artifacts as
// `config` cards.
//
//   reqconfig /AREA           requests a whole area (which may be abbreviated)
//   reqconfig NAME            requests one setting (clients before 2011)
//   config /TABLE SIZE        a row; see quarry/repository/configuration.h
//   config NAME SIZE          a setting (clients before 2011), which replaces the present one
//   config @TABLE SIZE        rows as SQL text (clients before 2011): refused
//
// Requests need the right to read; `/user` and `/subscriber` need admin, `/email` needs the right
// `e`. What the user may not see is silently left out. Each area is sent only once unless something
// changes, since otherwise a small request could cause gigabytes of replies. Sending configuration
// to the server needs admin. Used by Exchange.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "cards/card_reader.h"
#include "cards/card_writer.h"
#include "intake.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "sync_user.h"

namespace quarry::sync {

class Configuration {
 public:
  /// The arguments are not owned, and must outlive this object.
  Configuration(repository::Repository& repository, const SyncUser& sync_user, Intake& intake,
                CardWriter& writer)
      : repository_(repository), sync_user_(sync_user), intake_(intake), writer_(writer) {}

  /// Processes a reqconfig card.
  void request(const CardReader& card);
  /// Processes a config card. Errors: kDenied (not admin, SQL text), those of storing. Malformed
  /// rows and rows that may not be synced are skipped.
  base::Result<void> receive(const CardReader& card);

 private:
  /// The subset of AREAS that the user may see.
  repository::ConfigAreas allowed(repository::ConfigAreas areas) const;

  repository::Repository& repository_;
  const SyncUser& sync_user_;
  Intake& intake_;
  CardWriter& writer_;
  // Areas and settings that were sent since the last change.
  repository::ConfigAreas areas_ = 0;
  std::set<std::string, std::less<>> settings_;
};

}  // namespace quarry::sync
