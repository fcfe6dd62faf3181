// The client's side of syncing unversioned files.
//
//   first request   `pragma uv-hash HASH`, the hash over all local files
//   its reply       no cards if the server has the same files. Otherwise, `uvigot` for every file,
//                   and `pragma uv-push-ok` or (without the right to write) `pragma uv-pull-only`
//   later requests  `uvgimme` for files that are newer on the server, until they have arrived, and
//                   `uvfile` for files that are newer on the client
//
// If the server has the uv-sync setting, each of its replies to a clone contains the same cards as
// the reply to `pragma uv-hash`, even if the client has not sent this pragma. The client uses only
// the cards in the last reply.
//
// The version of a file with the later mtime is newer. If the mtimes are equal, the version with
// the greater hash is newer ("-", a deletion, is the lowest). Used by ClientSession.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cards/card_reader.h"
#include "cards/card_writer.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::sync {

class ClientUnversioned {
 public:
  /// Starts the transaction of a reply, if it has not started yet.
  using Writing = std::function<Result<repository::Receipt*>()>;

  struct Choices {
    bool asks = true;  // if false, does nothing unless the server starts the exchange
    bool pulls = false;
    bool pushes = false;
  };
  /// REPOSITORY is not owned. After MAX_UPLOAD bytes, no more files are added to a request.
  ClientUnversioned(repository::Repository& repository, Choices choices, std::size_t max_upload)
      : repository_(repository),
        pulls_(choices.pulls),
        pushes_(choices.pushes),
        has_asked_(!choices.asks),
        max_upload_(max_upload) {}

  bool has_more() const { return !has_asked_ || !wanted_.empty() || !to_send_.empty(); }
  /// Writes the cards about unversioned files into a request. Use inside a Snapshot.
  Result<void> write(CardWriter& writer);

  // --- while reading the reply -----------------------------------------------------------------

  void pragma(const CardReader& card);
  Result<void> igot(const CardReader& card);
  Result<void> file(const CardReader& card, const Writing& receipt);
  /// Call at the end of a reply.
  Result<void> finish_reply(const Writing& receipt);

  std::uint64_t sent() const { return sent_; }
  std::uint64_t received() const { return received_; }

 private:
  struct Version {
    std::int64_t mtime = 0;
    std::string hash = "-";
    friend auto operator<=>(const Version&, const Version&) = default;
  };
  Result<void> compare(const Writing& receipt);
  Result<void> compare_one(const std::string& name, const Version& there, const Version* here,
                           const Writing& receipt);
  Result<void> send(CardWriter& writer, const std::string& name);

  repository::Repository& repository_;
  bool pulls_;
  bool pushes_;
  bool has_asked_;
  std::size_t max_upload_;
  bool has_begun_ = false;  // files are being exchanged; later catalogues are ignored
  bool has_catalogue_ = false;
  bool may_push_ = false;
  bool something_came_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::map<std::string, Version> there_;
  std::vector<std::string> wanted_;
  std::vector<std::string> to_send_;  // in reverse order
  std::set<std::string> same_content_there_;
};

}  // namespace quarry::sync
