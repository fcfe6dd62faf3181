// The exchange of configuration in a session: settings, users, reports and shunned artifacts as
// `config` cards.
//
//   reqconfig /AREA           requests a whole area (which may be abbreviated)
//   reqconfig NAME            requests one setting (clients before 2011)
//   config /TABLE SIZE        a row; see quarry/repository/configuration.h
//   config NAME SIZE          a setting (clients before 2011); replaces the current value
//   config @TABLE SIZE        rows as SQL text (clients before 2011); refused
//
// Requests need the right to read. `/user` and `/subscriber` need the right `a`, and `/email` needs
// `e`. Areas that the user is not allowed to see are silently left out. Within a request, an area
// is sent again only after it has changed. Otherwise, a small request could cause gigabytes of
// replies. Sending configuration to the server needs the right `a`. Used by Exchange.
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

  void request(const CardReader& card);
  /// Processes a config card. Skips malformed rows, and rows that must not be synced. Errors:
  /// kDenied (the user does not have the right `a`, or the card contains SQL text), errors from
  /// storing.
  Result<void> receive(const CardReader& card);

 private:
  repository::ConfigAreas allowed(repository::ConfigAreas areas) const;

  repository::Repository& repository_;
  const SyncUser& sync_user_;
  Intake& intake_;
  CardWriter& writer_;
  // Areas and settings that were already sent, and have not changed since then.
  repository::ConfigAreas areas_ = 0;
  std::set<std::string, std::less<>> settings_;
};

}  // namespace quarry::sync
