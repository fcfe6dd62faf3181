// Processes the cards of one server reply in one transaction. The transaction starts at the first
// card that writes. Used by ClientSession.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cards/card_reader.h"
#include "client_offer.h"
#include "client_unversioned.h"
#include "client_wants.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/client_session.h"

namespace quarry::sync {

class ClientReply {
 public:
  /// The request and its session. The members are not owned.
  struct Context {
    repository::Repository& repository;
    const ClientOptions& options;
    ClientWants& wants;
    ClientOffer& offer;
    ClientUnversioned& unversioned;
    const repository::Sender& sender;
    bool takes_settings;  // the request asked for the configuration
    bool is_cloning;      // artifacts are stored first and processed later
  };
  explicit ClientReply(const Context& context) : c_(context) {}

  /// Processes CARDS. On failure, nothing is stored.
  Result<void> read(std::string_view cards);

  // --- content of the reply --------------------------------------------------------------------

  /// Returns the number in the last `clone_seqno` card.
  const std::optional<std::uint64_t>& clone_next() const { return clone_next_; }
  /// Returns the text of the reply's error card.
  const std::optional<std::string>& error() const { return error_; }
  /// Returns whether the reply contained the project code and this repository did not have it
  /// before.
  bool received_project_code() const { return received_project_code_; }
  bool refuses_push() const { return refuses_push_; }
  std::vector<std::string>& messages() { return messages_; }
  std::uint64_t received() const { return received_; }
  /// Returns the time, by the server's clock, at which the reply was sent.
  std::optional<base::UnixMillis> timestamp() const { return reader_.timestamp(); }

 private:
  Result<void> handle();
  Result<void> file();
  Result<void> igot();
  Result<void> gimme();
  Result<void> push();
  Result<void> clone_seqno();
  Result<void> config();
  bool takes() const { return c_.options.clone || c_.options.pull; }
  void message();
  Result<repository::Receipt*> receipt();
  Result<void> finish();

  Context c_;
  CardReader reader_{{}};
  std::optional<repository::Receipt> receipt_;
  bool next_is_private_ = false;
  std::optional<std::uint64_t> clone_next_;
  std::optional<std::string> error_;
  bool received_project_code_ = false;
  bool refuses_push_ = false;
  std::vector<std::string> messages_;
  std::uint64_t received_ = 0;
};

}  // namespace quarry::sync
