// The configuration in a session: settings, people, reports, shunned artifacts, in `config` cards.
//
//   reqconfig /AREA           asks for all of an area (which may be abbreviated)
//   reqconfig NAME            asks for one setting (clients before 2011)
//   config /TABLE SIZE        a row, see quarry/repository/configuration.h
//   config NAME SIZE          a setting (clients before 2011): what comes, replaces what is there
//   config @TABLE SIZE        rows as SQL text (clients before 2011): refused
//
// Asking needs the right to read; `/user` and `/subscriber` need to be admin, `/email` the right
// `e`; what somebody may not have is left out in silence. However often it is asked for, it is sent
// once, until something is changed: a small request would be answered with gigabytes. Sending needs
// admin. Used by Exchange.
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
  /// None is owned; all must outlive this.
  Configuration(repository::Repository& repository, const SyncUser& sync_user, Intake& intake,
                CardWriter& writer);

  /// A reqconfig card.
  void request(const CardReader& card);
  /// A config card. Errors: kDenied (not admin, SQL text) and what storing gives. Rows that are not
  /// of the form, or may not travel, are passed over.
  base::Result<void> receive(const CardReader& card);

 private:
  /// What of AREAS the visitor may have.
  repository::ConfigAreas allowed(repository::ConfigAreas areas) const;

  repository::Repository& repository_;
  const SyncUser& sync_user_;
  Intake& intake_;
  CardWriter& writer_;
  // What has been sent since the last change.
  repository::ConfigAreas areas_ = 0;
  std::set<std::string, std::less<>> settings_;
};

}  // namespace quarry::sync
