// Tests syncs with a peer over an unreliable network. The peer is in the same process.
#include "quarry/backoffice/peer_sync.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "fake_processes.h"
#include "held_clock.h"
#include "quarry/repository/receipt.h"
#include "quarry/repository/whole_file.h"
#include "quarry/sync/server_session.h"
#include "temporary_folder.h"

using namespace quarry::backoffice;
using namespace std::chrono_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;
using quarry::base::Result;
using quarry::repository::Repository;
using quarry::sync::ClientRequest;
using quarry::transport::RemoteUrl;
using quarry::transport::Transport;
using quarry::transport::TransportOptions;
using quarry::transport::TransportReply;
using What = PeerReport::What;

namespace {

/// Transports requests to a server in the same process. If `error` is set, each request fails with
/// that error.
class LocalTransport final : public Transport {
 public:
  LocalTransport(Repository& server, std::optional<Error>& error, std::function<void()>& meanwhile)
      : server_(server), error_(error), meanwhile_(meanwhile) {}

  Result<TransportReply> exchange(const ClientRequest& request) override {
    if (meanwhile_) meanwhile_();
    if (error_) return std::unexpected(*error_);
    const quarry::sync::SessionOptions options;
    auto reply = quarry::sync::answer(server_, options,
                                      {.content_type = request.content_type, .body = request.body});
    return TransportReply{.content_type = reply.content_type, .body = reply.body};
  }
  std::string remote_address() const override { return "192.0.2.7"; }

 private:
  Repository& server_;
  std::optional<Error>& error_;
  std::function<void()>& meanwhile_;
};

class PeerWorld {
 public:
  PeerWorld() {
    REQUIRE(quarry::repository::init(folder_ / "server.fossil",
                                     {.project_name = "peer", .user = "admin", .password = "pw"}));
    std::filesystem::copy_file(folder_ / "server.fossil", folder_ / "ours.fossil");
    server_ = open("server.fossil");
    ours_ = open("ours.fossil");
    processes.alive = {{100, 1}, {200, 2}};
  }

  Result<PeerReport> sync(bool is_forced = false, std::int64_t pid = 100) {
    PeerSyncOptions options{.peer = peer, .locate = {}, .transport = {}};
    options.locate = [this](Repository&) -> Result<RemoteUrl> {
      auto parsed = RemoteUrl::parse(url);
      REQUIRE(parsed);
      parsed->password = password;
      return *parsed;
    };
    options.connect = [this](const RemoteUrl&,
                             const TransportOptions&) -> Result<std::unique_ptr<Transport>> {
      ++connections;
      return std::make_unique<LocalTransport>(*server_, error, meanwhile);
    };
    options.is_interrupted = [this] { return is_interrupted; };
    options.is_forced = is_forced;
    options.pid = pid;
    options.processes = &processes;
    return sync_with_peer(*ours_, options);
  }
  What what(bool is_forced = false, std::int64_t pid = 100) {
    const auto report = sync(is_forced, pid);
    REQUIRE(report);
    return report->what;
  }
  PeerState state() {
    const auto snapshot = ours_->snapshot();
    REQUIRE(snapshot);
    return PeerState::parse(ours_->settings().get("quarry-peer there").value_or(""));
  }
  void receive_something(const std::string& content) {
    auto receipt = ours_->receive();
    REQUIRE(receipt);
    receipt->set_sender({.uid = 1, .login_nonce = {}, .address = {}});
    REQUIRE(receipt->store({.name = quarry::artifact::HashName::of(
                                quarry::artifact::HashAlgorithm::kSha3_256, content),
                            .payload = content,
                            .delta_source = {},
                            .declared_size = {}}));
    REQUIRE(receipt->commit());
  }

  PeerOptions peer{.name = "there"};
  std::string url = "http://admin@example.org/";
  std::string password = "pw";
  std::optional<Error> error;
  std::function<void()> meanwhile;
  bool is_interrupted = false;
  FakeProcesses processes;
  HeldClock clock;
  int connections = 0;

 private:
  std::unique_ptr<Repository> open(const char* name) {
    quarry::repository::OpenOptions options;
    options.clock = &clock;
    auto opened = Repository::open(folder_ / name, options);
    REQUIRE(opened);
    return std::move(*opened);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Repository> server_;
  std::unique_ptr<Repository> ours_;
};

}  // namespace

TEST_CASE("a sync runs when it is due, and its result is stored") {
  PeerWorld world;
  CHECK(world.what() == What::kDone);
  CHECK(world.state().succeeded == world.clock.now().value);
  CHECK(world.state().url == "http://admin@example.org/");
  const auto before = world.state();
  CHECK_FALSE(before.runner);
  const auto report = world.sync();
  REQUIRE(report);
  CHECK(report->what == What::kNotDue);
  CHECK(report->wait == 60s);
  CHECK(world.state() == before);
  CHECK(world.connections == 1);
  world.clock.advance(60'000);
  CHECK(world.what() == What::kDone);
  CHECK(world.what(true) == What::kDone);
  CHECK(world.connections == 3);
}

TEST_CASE("failures are counted, logged once, and retried with backoff until a success") {
  PeerWorld world;
  world.error = Error{ErrorCode::kIo, "no server"};
  auto report = world.sync();
  REQUIRE(report);
  CHECK(report->what == What::kFailed);
  CHECK(report->is_news);
  CHECK(report->error->message == "no server");
  CHECK(world.what() == What::kNotDue);
  const auto fail_again = [&](const std::string& why) {
    world.error->message = why;
    world.clock.advance(world.state().next - world.clock.now().value);
    report = world.sync();
    REQUIRE(report);
    CHECK(report->what == What::kFailed);
    return report->is_news;
  };
  CHECK(fail_again("timed out after 10 ms"));
  CHECK_FALSE(fail_again("timed out after 20 ms"));
  CHECK(world.state().failures == 3);
  CHECK(world.state().error == "timed out after 20 ms");
  world.error.reset();
  world.clock.advance(60'000);
  report = world.sync();
  REQUIRE(report);
  CHECK(report->what == What::kDone);
  CHECK(report->past_failures == 3);
  CHECK(world.state().failures == 0);
  CHECK(world.state().error.empty());
}

TEST_CASE("a refused password is tried once, and is not stored anywhere") {
  PeerWorld world;
  world.password = "wrong-secret";
  const auto report = world.sync();
  REQUIRE(report);
  CHECK(report->what == What::kFailed);
  CHECK(report->error->code == ErrorCode::kDenied);
  CHECK(world.connections == 1);
  CHECK(world.state().text().find("secret") == std::string::npos);
}

TEST_CASE("only one process syncs with a peer, and a dead one does not count") {
  PeerWorld world;
  std::optional<What> other;
  world.meanwhile = [&] {
    if (!other) other = world.what(true, 200);
  };
  CHECK(world.what() == What::kDone);
  CHECK(other == What::kRunning);

  PeerWorld dead;
  dead.meanwhile = [&] {
    const auto runner = dead.state().runner;
    REQUIRE(runner);
    CHECK(runner->pid == 100);
    dead.processes.alive.erase(100);
    dead.meanwhile = {};
    CHECK(dead.what(true, 200) == What::kDone);
  };
  CHECK(dead.what() == What::kDone);
}

TEST_CASE("an interrupted sync is not a failure, and is due again") {
  PeerWorld world;
  world.error = Error{ErrorCode::kIo, "interrupted"};
  world.is_interrupted = true;
  CHECK(world.what() == What::kInterrupted);
  CHECK(world.state().failures == 0);
  CHECK_FALSE(world.state().runner);
  world.error.reset();
  world.is_interrupted = false;
  CHECK(world.what() == What::kDone);
}

TEST_CASE("the state of a peer is discarded when its URL changes") {
  PeerWorld world;
  world.error = Error{ErrorCode::kIo, "no server"};
  REQUIRE(world.what() == What::kFailed);
  world.url = "http://admin@other.example.org/";
  world.error.reset();
  CHECK(world.what() == What::kDone);
  CHECK(world.state().url == world.url);
}

TEST_CASE("content that arrives during a sync is sent by the next one, immediately") {
  PeerWorld world;
  world.meanwhile = [&] {
    world.meanwhile = {};
    world.receive_something("news");
  };
  REQUIRE(world.what() == What::kDone);
  CHECK(world.what() == What::kDone);
  CHECK(world.what() == What::kNotDue);
  CHECK(world.state().sent == 1);
}
