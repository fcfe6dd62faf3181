// Compares the repositories of this host with those of the other hosts, because a host can miss
// entries: NATS discards old messages, and its servers' copies of the stream can differ after a
// network partition. What a host lacks is then published again.
//
// Each host announces its position, the sequence up to which it has applied the stream, in each
// interval. It adds the digests of repositories that have changed, or that differ from another host's:
//
//   quarry 1 HOST CREATED SEQUENCE\n
//   PROJECT SEQUENCE NEEDS-SYNC NAMES ROWS\n …   SEQUENCE: of the project's last applied entry
//
// A host that leaves the group announces only `quarry 1 HOST\n`.
//
// Digests are compared only if each host has read what the other has applied. After two differences
// in a row, the host requests what it needs to find the difference. Requests are a line, and
// sometimes more lines. Answers are `ok\n` and the lines that Replication returns, or `error TEXT`:
//
//   digests PROJECT               lines `DIGITS DIGEST`: Replication::Contents::buckets
//   names PROJECT DIGITS AFTER    `-`: from the first one
//   rows PROJECT TABLE KEY        `- -`: from the first one
//   publish PROJECT\nTABLE KEY…   publishes these rows again
//
// A host with Facts::needs_sync takes the rows of the other host. Otherwise, the newer version of
// each row is published. Artifacts that a host lacks are requested through the stream, so all hosts
// can have them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/replica/stream.h"
#include "repositories.h"
#include "stream_health.h"

namespace quarry::replica {

class Peers {
 public:
  /// What is known about another host.
  struct Host {
    std::string name;
    std::uint64_t position = 0;
    std::uint64_t lag = 0;      // messages behind this host
    double heard = 0;           // seconds since its last announcement
    bool is_silent = false;     // for too long
    std::size_t different = 0;  // repositories
  };
  /// Answers a request that this class does not know.
  using Answer = std::function<Result<std::string>(std::string_view verb, std::string_view rest)>;

  /// References are not owned. Starts the thread.
  Peers(Repositories& repositories, ReadPosition& position, Stream& stream, StreamHealth& health,
        std::string host, std::chrono::milliseconds interval, Answer answer);
  ~Peers() { stop(); }
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  /// Ends the thread and does not answer any more.
  void stop();
  /// Tells the other hosts that this host leaves the group.
  void leave();

  std::vector<Host> hosts() const;
  /// Returns whether all hosts that answer hold the same in PROJECT, or nullopt if it is not known.
  std::optional<bool> is_same(const std::string& project, const Facts& facts) const;
  /// Sends REQUEST to HOST. Returns the answer after `ok\n`. Errors: those of Stream::request(), and
  /// kConflict (an answer that begins with `error`).
  Result<std::string> request(const std::string& host, std::string_view request) const;

 private:
  using Clock = std::chrono::steady_clock;

  /// What another host has announced about a repository.
  struct Announced {
    std::uint64_t sequence = 0;
    bool needs_sync = false;
    Digests digests;
    bool is_new = true;  // not compared yet
    int differences = 0;
  };
  struct Peer {
    sync::ReplicaPosition position;
    Clock::time_point heard;
    std::map<std::string, Announced> projects;  // only those that this host has
  };
  struct Attempt {
    Clock::time_point next;
    Clock::duration delay{};
    Digests digests;  // of this host before the attempt
  };
  struct Repair {
    ReplicatedPtr one;
    std::string project;
    std::string host;
    Announced theirs;
  };
  struct Gate;

  std::string answer(std::string_view request);
  Result<std::string> answer_about(std::string_view verb, std::string_view rest);
  void listen(std::string_view text);
  void take(Peer& peer, std::string_view line);
  void run();
  void compute_digests();
  void compute(const ReplicatedPtr& one, const FileState& state);
  void compare();
  void compare(const Peer& peer, Announced& theirs, const std::string& project);
  std::uint64_t sequence_of(const Facts& facts) const;
  bool is_silent(const Peer& peer) const;
  bool agrees_with_all(const std::string& project, const Digests& digests) const;
  void announce();
  std::vector<Repair> find_repairs();
  Result<void> repair(const Repair& repair);
  Result<void> repair_rows(const Repair& repair, bool takes_theirs);
  Result<void> repair_names(const Repair& repair);
  Result<void> use(const Repair& repair, const Repositories::Action& action);

  Repositories& repositories_;
  ReadPosition& position_;
  Stream& stream_;
  StreamHealth& health_;
  const std::string host_;
  const std::chrono::milliseconds interval_;
  const Answer answer_;
  // Used only by the thread:
  std::size_t next_ = 0;  // repository whose digests are computed next
  Clock::time_point next_full_;
  std::map<std::string, Attempt> attempts_;  // by project

  mutable std::mutex mutex_;  // guards the fields below
  std::condition_variable wake_;
  bool is_stopping_ = false;
  bool has_left_ = false;
  bool must_announce_all_ = true;
  std::map<std::string, Peer> peers_;  // by host
  std::shared_ptr<Gate> gate_;
  std::thread thread_;
};

}  // namespace quarry::replica
