#include "quarry/transport/peer.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/repository/whole_file.h"
#include "quarry/sync/server_session.h"
#include "temporary_folder.h"

using namespace quarry::transport;
using namespace std::chrono_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;
using quarry::base::Result;
using quarry::repository::Repository;
using quarry::sync::ClientRequest;

namespace {

/// The ways in which an exchange can fail. After a test's faults are used up, the server answers.
enum class Fault { kNoServer, kCutOff, kDenied };

/// A server in the same process, and an unreliable network.
struct Network {
  Repository& server;
  std::vector<Fault> faults;
  int connections = 0;
};

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(Network& network) : network_(network) {}

  Result<TransportReply> exchange(const ClientRequest& request) override {
    std::optional<Fault> fault;
    if (!network_.faults.empty()) {
      fault = network_.faults.front();
      network_.faults.erase(network_.faults.begin());
    }
    if (fault == Fault::kNoServer) return quarry::base::fail(ErrorCode::kIo, "no server");
    if (fault == Fault::kDenied) return quarry::base::fail(ErrorCode::kDenied, "not believed");
    const quarry::sync::SessionOptions options;
    auto reply = quarry::sync::answer(network_.server, options,
                                      {.content_type = request.content_type, .body = request.body});
    if (fault == Fault::kCutOff) return quarry::base::fail(ErrorCode::kIo, "cut off");
    return TransportReply{.content_type = reply.content_type, .body = reply.body};
  }
  std::string remote_address() const override { return "192.0.2.7"; }

 private:
  Network& network_;
};

class Watch final : public PeerWatch {
 public:
  void finished(const quarry::sync::ClientFigures&) override { ++finished_count; }
  bool wait(std::chrono::milliseconds delay, const Error& why) override {
    delays.push_back(delay);
    reasons.push_back(why.message);
    return patience-- > 0;
  }
  Result<std::string> next_password(const RemoteUrl&, const Error& why, int tries) override {
    if (tries > static_cast<int>(passwords.size())) return std::unexpected(why);
    return passwords[static_cast<std::size_t>(tries) - 1];
  }

  int patience = 100;
  std::vector<std::string> passwords;
  std::vector<std::chrono::milliseconds> delays;
  std::vector<std::string> reasons;
  int finished_count = 0;
};

/// A server with a repository, and a client whose empty repository becomes a clone of it.
class World {
 public:
  World() {
    REQUIRE(quarry::repository::init(folder_ / "server.fossil",
                                     {.project_name = "peer", .user = "admin", .password = "pw"}));
    REQUIRE(quarry::repository::init_for_clone(path(), "me"));
    server_ = open(folder_ / "server.fossil");
    client_ = open(path());
    network.emplace(Network{*server_, {}});
  }

  std::filesystem::path path() const { return folder_ / "client.fossil"; }
  bool is_cloned() const {
    return client_->settings().project_code() == server_->settings().project_code();
  }
  Result<Peer::Outcome> sync(const std::string& password = "pw", const RetryOptions& retry = {}) {
    auto url = RemoteUrl::parse("http://admin@example.org/");
    REQUIRE(url);
    url->password = password;
    quarry::sync::ClientOptions options;
    options.clone = true;
    const auto connect = [this](const RemoteUrl&,
                                const TransportOptions&) -> Result<std::unique_ptr<Transport>> {
      ++network->connections;
      return std::make_unique<LocalTransport>(*network);
    };
    Peer peer(*client_,
              {.url = *url, .transport = {}, .sync = options, .retry = retry, .connect = connect},
              watch);
    return peer.sync();
  }

  std::optional<Network> network;
  Watch watch;

 private:
  static std::unique_ptr<Repository> open(const std::filesystem::path& path) {
    auto opened = Repository::open(path);
    REQUIRE(opened);
    return std::move(*opened);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Repository> server_;
  std::unique_ptr<Repository> client_;
};

}  // namespace

TEST_CASE("an uninterrupted sync needs one connection, and reports its end once") {
  World world;
  const auto outcome = world.sync();
  REQUIRE(outcome);
  CHECK(world.is_cloned());
  CHECK(outcome->figures.artifacts_received > 0);
  CHECK(outcome->url.password == "pw");
  CHECK_FALSE(outcome->moved_to.has_value());
  CHECK(world.network->connections == 1);
  CHECK(world.watch.finished_count == 1);
  CHECK(world.watch.delays.empty());
}

TEST_CASE("an unreachable server is retried with backoff, and received content is kept") {
  World world;
  world.network->faults = {Fault::kNoServer, Fault::kCutOff, Fault::kNoServer};
  const auto outcome = world.sync("pw", {.tries = 5, .first = 1s, .longest = 60s});
  REQUIRE(outcome);
  CHECK(world.is_cloned());
  CHECK(world.network->connections == 4);
  CHECK(world.watch.reasons == std::vector<std::string>{"no server", "cut off", "no server"});
  REQUIRE(world.watch.delays.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto longest = 1s * (1 << i);
    CHECK(world.watch.delays[i] <= longest);
    CHECK(world.watch.delays[i] >= longest * 3 / 4);
  }
  const auto verified = quarry::repository::verify(world.path());
  REQUIRE(verified);
  CHECK(verified->faults.empty());
}

TEST_CASE("retries end after the configured number, or when the caller has to end") {
  for (const bool may_wait : {true, false}) {
    World world;
    world.network->faults.assign(10, Fault::kNoServer);
    if (!may_wait) world.watch.patience = 0;
    const auto outcome = world.sync("pw", {.tries = 3, .first = 1s, .longest = 60s});
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().message == "no server");
    CHECK(world.network->connections == (may_wait ? 3 : 1));
  }
}

TEST_CASE("a permanent failure is not retried") {
  World world;
  world.network->faults = {Fault::kDenied};
  const auto outcome = world.sync("pw", {.tries = 5, .first = 1s, .longest = 60s});
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::kDenied);
  CHECK(world.network->connections == 1);
}

TEST_CASE("a refused password is replaced by the watch's next one, if it has one") {
  World world;
  world.watch.passwords = {"wrong too", "pw"};
  const auto outcome = world.sync("wrong");
  REQUIRE(outcome);
  CHECK(outcome->url.password == "pw");
  CHECK(world.is_cloned());

  World other;
  const auto refused = other.sync("wrong");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "the server says: login failed");
}

TEST_CASE("the delay before a retry doubles up to a limit, and is shortened at random") {
  const RetryOptions options{.tries = 99, .first = 1s, .longest = 10s};
  CHECK(delay_before(1, options, 0) == 1s);
  CHECK(delay_before(2, options, 0) == 2s);
  CHECK(delay_before(4, options, 0) == 8s);
  CHECK(delay_before(5, options, 0) == 10s);
  CHECK(delay_before(1'000'000, options, 0) == 10s);
  CHECK(delay_before(2, options, 0.5) == 1750ms);
}
