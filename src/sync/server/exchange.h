// One pass over the cards of a request. The pass also builds the reply.
//
// The reply contains, in this order: answers to single cards; the artifacts of a clone, or the
// requested artifacts; after a push, `gimme` cards for phantoms; after a pull, `igot` cards for
// artifacts that the client might lack; the timestamp. An error ends the pass. The reply then
// contains only the error, and the caller destroys the Receipt.
//
// Used by ServerSession.
#pragma once

#include <optional>
#include <string_view>

#include "cards/bound.h"
#include "cards/card_reader.h"
#include "cards/card_tally.h"
#include "cards/card_writer.h"
#include "cards/name_list.h"
#include "configuration.h"
#include "intake.h"
#include "pragmas.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"
#include "supply.h"
#include "sync_user.h"
#include "unversioned.h"

namespace quarry::sync {

class Exchange {
 public:
  enum class Outcome {
    kDone,           // the reply is complete
    kNeedsReceipt,   // a card has to be stored, but the receipt is null
    kWantsClusters,  // there are enough unclustered artifacts to make clusters
    kIsBehind,       // the client's last push to another host might be missing
  };

  /// The arguments are not owned, and must outlive the exchange. RECEIPT is null for a read-only
  /// pass.
  Exchange(repository::Repository& repository, const SessionOptions& options,
           const Request& request, Bound& bound, repository::Receipt* receipt);

  /// When run() may stop early.
  struct Stops {
    bool for_clusters = false;
    bool for_hosts = false;
  };
  /// Processes the decoded CARDS and builds the reply. Returns kWantsClusters and kIsBehind only if
  /// STOPS permits it. The caller has to report an error to the client.
  Result<Outcome> run(std::string_view cards, Stops stops);

  /// Returns the reply without its timestamp. Call after run() has returned kDone.
  CardWriter& reply() { return writer_; }
  /// Returns whether a clone of version 3 or later was granted. The reply to such a clone is sent
  /// uncompressed.
  bool is_plain_clone() const { return clone_version_ >= 3 && !is_clone_by_name(); }
  /// Returns the cookie for the client, if any. POSITION: see HostGroup::publish().
  std::optional<HostCookie> cookie(
      const std::optional<repository::ReplicaPosition>& position) const;
  /// Returns the cookie that the client has sent, if it is the cookie of a host.
  const std::optional<HostCookie>& received_cookie() const { return cookie_; }
  /// Returns whether the request failed because the user does not have the right to clone.
  bool refused_clone() const { return clone_refused_; }
  /// Returns whether a hook embargo still has to be removed. A pass without a receipt cannot remove
  /// the embargo.
  bool leaves_embargo() const { return leaves_embargo_; }

  /// Reports the start of PHASE through Request::on_progress.
  void report_progress(std::string_view phase) const;

  repository::Sender sender() const { return intake_.sender(); }
  /// Returns the statistics of the pass, without the error.
  SessionFigures figures() const;

 private:
  Result<void> handle();
  Result<void> clone();
  Result<void> pull();
  Result<void> push();
  Result<void> check_codes();
  Result<void> file();
  Result<void> igot();
  Result<void> gimme();
  Result<void> private_next();
  Result<void> pragma();
  Result<void> finish_push();
  Result<void> announce();
  bool calls_for_clusters();
  /// Returns whether the client continues a clone that another host has begun.
  bool is_clone_by_name() const;
  Result<bool> is_behind();
  std::string_view operation() const;

  repository::Repository& repository_;
  const SessionOptions& options_;
  const Request& request_;
  Bound& bound_;
  repository::Receipt* receipt_;
  CardReader reader_{{}};
  CardWriter writer_;
  SyncUser sync_user_;
  Intake intake_;
  Supply supply_;
  Unversioned unversioned_;
  Configuration configuration_;
  Pragmas pragmas_;
  CardTally tally_;

  std::size_t artifacts_ = 0;  // number of artifacts received
  bool may_pull_ = false;
  bool may_push_ = false;
  bool asked_push_ = false;
  bool is_clone_ = false;
  bool clone_refused_ = false;
  std::uint64_t clone_version_ = 0;
  repository::Rid clone_first_ = 0;
  std::optional<HostCookie> cookie_;
  bool private_session_ = false;
  bool private_refused_ = false;
  bool next_is_private_ = false;
  bool wants_catalogue_ = false;
  bool wants_clusters_ = false;
  bool leaves_embargo_ = false;
  ClientVersion client_;
  NameList client_has_;
};

}  // namespace quarry::sync
