#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "eventually.h"
#include "nats_servers.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"
#include "stream_client.h"

using namespace quarry;
using replica::NewStreamMessage;
using replica::Stream;
using replica::StreamMessage;
using replica::StreamOptions;

namespace {

constexpr std::string_view kUsers = R"(authorization { users: [
  { user: "replica", password: "sesame" }
  { user: "guest", password: "guest", permissions: { publish: ["$JS.API.>"] } }
] })";

/// Sends the log to a file.
class LogFile {
 public:
  explicit LogFile(const std::filesystem::path& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)) {
    base::set_log_descriptor(file_.get());
  }
  ~LogFile() { base::set_log_descriptor(STDERR_FILENO); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  std::string text() const { return read_file(path_); }

 private:
  std::filesystem::path path_;
  base::Fd file_;
};

/// Creates a certificate authority and certificates for 127.0.0.1, for another host, and for a client.
struct Certificates {
  TemporaryFolder folder;

  Certificates() {
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ca "
        "-keyout ca.key -out ca.pem");
    make("server", "IP:127.0.0.1");
    make("other", "DNS:other.example");
    make("client", "DNS:client");
  }
  std::string path(std::string_view name) const { return folder / name; }
  std::string configuration(std::string_view name, std::string_view more = "") const {
    return fmt::format("tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", {} }}",
                       path(fmt::format("{}.pem", name)), path(fmt::format("{}.key", name)),
                       path("ca.pem"), more);
  }

 private:
  void run(const std::string& arguments) const {
    const std::string command =
        fmt::format("cd '{}' && openssl {} 2> openssl.log", folder.string(), arguments);
    REQUIRE(std::system(command.c_str()) == 0);
  }
  void make(const std::string& name, const std::string& alternative) const {
    write_file(folder / (name + ".ext"), "subjectAltName=" + alternative);
    run(
        fmt::format("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={0} "
                    "-keyout {0}.key -out {0}.csr",
                    name));
    run(
        fmt::format("x509 -req -in {0}.csr -CA ca.pem -CAkey ca.key -days 2 -extfile {0}.ext "
                    "-out {0}.pem",
                    name));
  }
};

}  // namespace

TEST_CASE("messages are read in the order in which they were published") {
  const NatsServers servers(1);
  const auto stream = open(options_of(servers));
  const auto empty = stream->range();
  REQUIRE(empty);
  CHECK(empty->created > 0);
  CHECK(empty->first == 1);
  CHECK(empty->last == 0);

  CHECK(publish(*stream, {message("a")}) == 1);
  CHECK(publish(*stream, {message("b"), {"p2", "other", "c"}, message("")}) == 4);
  const auto range = stream->range();
  REQUIRE(range);
  CHECK(range->created == empty->created);
  CHECK(range->first == 1);
  CHECK(range->last == 4);

  Reader reader(*stream, 0);
  const auto first = reader.next();
  CHECK(first.content == "a");
  CHECK(first.project == "p1");
  const auto now = base::system_clock().now().value;
  CHECK(first.stored.value <= now);
  CHECK(first.stored.value > now - 3'600'000);
  CHECK(reader.next().content == "b");
  CHECK(reader.next().project == "p2");
  CHECK(reader.next().content.empty());
  const auto nothing = stream->next(kShort);
  REQUIRE(nothing);
  CHECK(!*nothing);
  publish(*stream, {message("later")});
  CHECK(reader.next().content == "later");
  Reader again(*stream, 3);
  CHECK(again.next().content.empty());
}

TEST_CASE("several threads publish at the same time") {
  const NatsServers servers(1);
  const auto stream = open(options_of(servers));
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kCalls = 25;
  std::array<std::vector<std::uint64_t>, kThreads> sequences;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < kCalls; ++i) {
        const std::vector<NewStreamMessage> messages{
            {"p1", fmt::format("{} {} a", t, i), fmt::format("{} {} a", t, i)},
            {"p1", fmt::format("{} {} b", t, i), fmt::format("{} {} b", t, i)}};
        const auto last = stream->publish(messages, kPatienceTime);
        sequences[t].push_back(last.value_or(0));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::map<std::uint64_t, std::string> contents;
  Reader reader(*stream);
  for (std::size_t i = 0; i < 2 * kThreads * kCalls; ++i) {
    auto found = reader.next();
    contents[found.sequence] = std::move(found.content);
  }
  for (std::size_t t = 0; t < kThreads; ++t)
    for (std::size_t i = 0; i < kCalls; ++i)
      CHECK(contents[sequences[t][i]] == fmt::format("{} {} b", t, i));
}

TEST_CASE("a repeated message is stored once, and several repeated messages are stored in order") {
  const NatsServers servers(1);
  const auto stream = open(options_of(servers));
  const auto a = message("a");
  const auto b = message("b");
  CHECK(publish(*stream, {a}) == 1);
  CHECK(publish(*stream, {a}) == 1);
  // Only b might have been stored by an earlier call.
  CHECK(publish(*stream, {b}) == 2);
  CHECK(publish(*stream, {a, b}) == 4);
}

TEST_CASE("many messages of the maximum size are published and read") {
  const NatsServers servers(1, "max_payload: 100000");
  const auto stream = open(options_of(servers));
  CHECK(stream->max_content() < 100000);
  CHECK(stream->max_content() > 90000);
  std::vector<NewStreamMessage> messages;
  for (int i = 0; i < 1000; ++i) {
    messages.push_back(message(std::string(stream->max_content(), 'x')));
    messages.back().content.replace(0, 8, fmt::format("{:8}", i));
  }
  CHECK(publish(*stream, messages) == 1000);
  Reader reader(*stream);
  for (int i = 0; i < 1000; ++i) CHECK(reader.next().content.starts_with(fmt::format("{:8}x", i)));

  const auto too_large = stream->publish(std::array{message(std::string(200000, 'x'))}, kShort);
  REQUIRE(!too_large);
  CHECK(too_large.error().code == ErrorCode::kLimit);
}

TEST_CASE("a stream can be opened before the servers are up") {
  NatsServers servers(1);
  servers.kill(0);
  const auto stream = Stream::open(options_of(servers));
  REQUIRE(stream);
  CHECK(!(*stream)->is_connected());
  const auto range = (*stream)->range();
  REQUIRE(!range);
  CHECK(range.error().code == ErrorCode::kBusy);
  CHECK(range.error().message.contains("cannot connect to nats://127.0.0.1:"));
  const auto published = (*stream)->publish(std::array{message("a")}, kShort);
  REQUIRE(!published);
  CHECK(published.error().code == ErrorCode::kBusy);
  CHECK((*stream)->next(kShort).error().code == ErrorCode::kBusy);
  servers.start(0);
  CHECK(publish(**stream, {message("a")}) == 1);
  CHECK(eventually([&] { return (*stream)->is_connected(); }));
  CHECK(Reader(**stream).next().content == "a");
}

TEST_CASE("reading and publishing continue after the server was killed") {
  NatsServers servers(1);
  const auto stream = open(options_of(servers));
  publish(*stream, {message("a"), message("b")});
  Reader reader(*stream);
  CHECK(reader.next().content == "a");
  servers.kill(0);
  CHECK(eventually([&] { return !stream->is_connected(); }));
  servers.start(0);
  CHECK(publish(*stream, {message("c")}) == 3);
  CHECK(reader.next().content == "b");
  CHECK(reader.next().content == "c");
}

TEST_CASE("a stopped server is noticed") {
  NatsServers servers(1);
  const auto stream = open(options_of(servers));
  Reader reader(*stream);
  publish(*stream, {message("a")});
  servers.stop(0);
  const auto failed = stream->publish(std::array{message("b")}, std::chrono::milliseconds(500));
  REQUIRE(!failed);
  CHECK(failed.error().code == ErrorCode::kBusy);
  CHECK(eventually([&] { return !stream->is_connected(); }));
  servers.resume(0);
  publish(*stream, {message("c")});
  CHECK(reader.next().content == "a");
  // The stopped server might have received b.
  std::string content;
  while (content != "c") content = reader.next().content;
}

TEST_CASE("a deleted stream is created again, and next() fails until seek() is called") {
  NatsServers servers(1);
  const auto stream = open(options_of(servers));
  publish(*stream, {message("a"), message("b"), message("c")});
  Reader reader(*stream);
  for (int i = 0; i < 3; ++i) reader.next();
  const auto before = stream->range();
  REQUIRE(before);
  REQUIRE(servers.request(0, "$JS.API.STREAM.DELETE.quarry-g").contains("\"success\":true"));
  CHECK(publish(*stream, {message("d")}) == 1);
  CHECK(publish(*stream, {message("e")}) == 2);
  std::string error;
  CHECK(eventually([&] {
    const auto result = stream->next(kShort);
    if (!result) error = result.error().message;
    return !result;
  }));
  CHECK(error.contains("was deleted and created again"));
  CHECK(!stream->next(kShort));
  const auto after = stream->range();
  REQUIRE(after);
  CHECK(after->created > before->created);
  CHECK(after->last == 2);
  Reader again(*stream);
  CHECK(again.next().content == "d");
  CHECK(again.next().content == "e");
}

TEST_CASE("reading continues after messages that NATS has discarded") {
  NatsServers servers(1);
  const auto stream = open(options_of(servers));
  publish(*stream, {message("a"), message("b"), message("c")});
  REQUIRE(stream->seek(0));
  REQUIRE(
      servers.request(0, "$JS.API.STREAM.PURGE.quarry-g", "{\"keep\":1}").contains("\"purged\":2"));
  REQUIRE(stream->seek(0));
  const auto found = stream->next(kPatienceTime);
  REQUIRE(found);
  REQUIRE(*found);
  CHECK((*found)->sequence == 3);
  REQUIRE(servers.request(0, "$JS.API.STREAM.PURGE.quarry-g").contains("\"purged\":1"));
  const auto range = stream->range();
  REQUIRE(range);
  CHECK(range->first == 4);
  CHECK(range->last == 3);
  publish(*stream, {message("d")});
  CHECK(Reader(*stream, 3).next().content == "d");
}

TEST_CASE("seeking past the end of the stream is an error") {
  const NatsServers servers(1);
  const auto stream = open(options_of(servers));
  publish(*stream, {message("a")});
  CHECK(stream->seek(1));
  const auto result = stream->seek(2);
  REQUIRE(!result);
  CHECK(result.error().message.contains("ends at message 1, before the position 2"));
}

TEST_CASE("changed options are applied to the stream") {
  NatsServers servers(1);
  auto options = options_of(servers);
  open(options);
  CHECK(servers.request(0, "$JS.API.STREAM.INFO.quarry-g").contains("\"max_bytes\":10737418240"));
  options.keep = std::chrono::hours(1);
  options.keep_size = 1 << 20;
  const auto stream = open(options);
  const std::string info = servers.request(0, "$JS.API.STREAM.INFO.quarry-g");
  CHECK(info.contains("\"max_age\":3600000000000"));
  CHECK(info.contains("\"max_bytes\":1048576"));
  CHECK(info.contains("\"discard\":\"old\""));
  CHECK(info.contains("\"duplicate_window\":120000000000"));
  CHECK(info.contains("\"storage\":\"file\""));
}

TEST_CASE("it is an error if there are fewer servers than replicas") {
  const NatsServers servers(1);
  auto options = options_of(servers);
  options.replicas = 3;
  const auto stream = Stream::open(options);
  REQUIRE(stream);
  CHECK(!(*stream)->is_connected());
  const auto result = (*stream)->publish(std::array{message("a")}, kShort);
  REQUIRE(!result);
  CHECK(result.error().message.contains("cannot create the stream quarry-g with 3 replicas"));
}

TEST_CASE("acknowledged messages survive the loss of the leader") {
  NatsServers servers(3);
  const std::size_t leader = [&] {
    open(options_of(servers));
    return servers.leader("quarry-g");
  }();
  // Publish through a server that keeps running, and read through the leader.
  const auto publisher = open(options_of(servers, leader + 1));
  const auto stream = open(options_of(servers, leader));
  Reader reader(*stream);
  std::vector<std::string> acknowledged;
  const auto publish_some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const std::string content = fmt::format("{}", acknowledged.size());
      publish(*publisher, {message(content), message(content + " b")});
      acknowledged.push_back(content);
    }
  };
  publish_some(20);
  std::thread killer([&] { servers.kill(leader); });
  publish_some(100);
  killer.join();
  servers.start(leader);
  publish_some(20);

  std::size_t found = 0;
  std::string before;
  while (found < acknowledged.size()) {
    const std::string content = reader.next().content;
    // A call that was not acknowledged in time was sent again.
    if (before == acknowledged[found] && content == before + " b") ++found;
    before = content;
  }
}

TEST_CASE("a stopped leader is replaced, and its late messages do not disturb the order") {
  NatsServers servers(3);
  const std::size_t leader = [&] {
    open(options_of(servers));
    return servers.leader("quarry-g");
  }();
  // Both are connected to the server that stops.
  const auto stream = open(options_of(servers, leader));
  Reader reader(*stream);
  CHECK(publish(*stream, {message("a")}) == 1);
  CHECK(reader.next().content == "a");
  servers.stop(leader);
  const auto b = publish(*stream, {message("b")});
  servers.resume(leader);
  const auto c = publish(*stream, {message("c")});
  CHECK(c > b);
  for (std::uint64_t i = 2; i < b; ++i) reader.next();
  CHECK(reader.next().content == "b");
  for (std::uint64_t i = b + 1; i < c; ++i) reader.next();
  CHECK(reader.next().content == "c");
}

TEST_CASE("without a quorum nothing is acknowledged") {
  NatsServers servers(3);
  const auto stream = open(options_of(servers));
  Reader reader(*stream);
  publish(*stream, {message("a")});
  servers.kill(1);
  servers.kill(2);
  const auto result = stream->publish(std::array{message("b")}, std::chrono::milliseconds(3000));
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::kBusy);
  servers.start(1);
  servers.start(2);
  publish(*stream, {message("c")});
  CHECK(reader.next().content == "a");
  std::string content;
  while (content != "c") content = reader.next().content;
}

TEST_CASE("a cluster drops repeated messages even after all its servers were killed" *
          doctest::test_suite("long")) {
  NatsServers servers(3);
  const auto stream = open(options_of(servers));
  std::vector<NewStreamMessage> messages;
  for (int i = 0; i < 10; ++i) {
    messages.push_back(message(fmt::format("{}", i)));
    publish(*stream, {messages.back()});
    publish(*stream, {messages.back()});
  }
  for (std::size_t i = 0; i < 3; ++i) servers.kill(i);
  for (std::size_t i = 0; i < 3; ++i) servers.start(i);
  for (const auto& each : messages) publish(*stream, {each});
  publish(*stream, {message("end")});
  Reader reader(*stream);
  for (int i = 0; i < 10; ++i) CHECK(reader.next().content == fmt::format("{}", i));
  CHECK(reader.next().content == "end");
}

TEST_CASE(
    "a refused login is retried with the new contents of the file, and passwords are not logged") {
  const NatsServers servers(1, std::string(kUsers));
  const TemporaryFolder folder;
  const LogFile log(folder / "log");
  auto options = options_of(servers);
  options.credentials = folder / "login";
  write_file(options.credentials, "replica:wrong-word\n");
  {
    auto stream = Stream::open(options);
    REQUIRE(stream);
    CHECK(!(*stream)->is_connected());
    const auto refused = (*stream)->publish(std::array{message("a")}, kShort);
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::kBusy);
    CHECK(refused.error().message.contains("Authorization Violation"));
    CHECK(!refused.error().message.contains("wrong-word"));
    write_file(options.credentials, "replica:sesame\n");
    CHECK(publish(**stream, {message("a")}) == 1);
    CHECK(Reader(**stream).next().content == "a");
  }
  CHECK(log.text().contains("Authorization Violation"));
  CHECK(!log.text().contains("wrong-word"));
  CHECK(!log.text().contains("sesame"));
}

TEST_CASE("publishing without permission is an error") {
  const NatsServers servers(1, std::string(kUsers));
  const TemporaryFolder folder;
  auto options = options_of(servers);
  options.credentials = folder / "login";
  write_file(options.credentials, "guest:guest");
  const auto stream = open(options);
  const auto result = stream->publish(std::array{message("a")}, kPatienceTime);
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::kDenied);
  CHECK(result.error().message.contains("Permissions Violation for Publish"));
}

TEST_CASE("a refused announcement is not the reason why a message is not acknowledged") {
  NatsServers servers(1, R"(authorization { users: [
    { user: "replica", password: "sesame", permissions: { publish: { deny: ["quarry-host.g"] } } }
  ] })");
  const TemporaryFolder folder;
  const LogFile log(folder / "log");
  auto options = options_of(servers);
  options.credentials = folder / "login";
  write_file(options.credentials, "replica:sesame");
  const auto stream = open(options);
  stream->announce("news");
  CHECK(eventually([&] { return log.text().contains("Publish to \"quarry-host.g\""); }));
  servers.stop(0);
  const auto result = stream->publish(std::array{message("a")}, kShort);
  servers.resume(0);
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::kBusy);
}

TEST_CASE("messages do not contain the passwords in URLs") {
  NatsServers servers(1);
  const TemporaryFolder folder;
  const LogFile log(folder / "log");
  auto options = options_of(servers);
  options.servers = "nats://replica:sesame@" + servers.url(0);
  const auto stream = open(options);
  servers.kill(0);
  CHECK(eventually([&] { return !stream->is_connected(); }));
  CHECK(eventually([&] {
    const auto range = stream->range();
    return !range && range.error().message.contains("cannot connect to nats://127.0.0.1:");
  }));
  servers.start(0);
  CHECK(eventually([&] { return stream->is_connected(); }));
  CHECK(log.text().contains("connected to nats://127.0.0.1:"));
  CHECK(!log.text().contains("sesame"));
}

TEST_CASE("files that cannot be used are reported") {
  const NatsServers servers(1);
  const TemporaryFolder folder;
  write_file(folder / "empty", "");
  write_file(folder / "word", "word\n");
  const auto error_of = [&](const auto& change) {
    auto options = options_of(servers);
    change(options);
    const auto stream = Stream::open(options);
    REQUIRE(!stream);
    return stream.error();
  };
  const auto missing =
      error_of([&](StreamOptions& options) { options.credentials = folder / "missing"; });
  CHECK(missing.code == ErrorCode::kNotFound);
  CHECK(missing.message.contains("cannot read credentials"));
  for (const char* name : {"empty", "word"}) {
    const auto error =
        error_of([&](StreamOptions& options) { options.credentials = folder / name; });
    CHECK(error.code == ErrorCode::kInvalid);
    CHECK(error.message.contains(name));
  }
  const auto set_tls = [&](StreamOptions& options) {
    options.servers = "tls://" + servers.url(0);
    options.tls_ca = folder / "missing";
  };
  CHECK(error_of(set_tls).code == ErrorCode::kNotFound);
  const auto set_word = [&](StreamOptions& options) {
    options.servers = "tls://" + servers.url(0);
    options.tls_ca = folder / "word";
  };
  CHECK(error_of(set_word).code == ErrorCode::kInvalid);
  const auto mixed =
      error_of([&](StreamOptions& options) { options.servers += ",tls://" + servers.url(0); });
  CHECK(mixed.message.contains("either all or none"));
}

TEST_CASE("TLS connects to a server with a trusted certificate for its address") {
  const Certificates certificates;
  const NatsServers servers(1, certificates.configuration("server", "verify: true"));
  auto options = options_of(servers);
  options.servers = "tls://" + servers.url(0);
  options.tls_ca = certificates.path("ca.pem");
  options.tls_certificate = certificates.path("client.pem");
  options.tls_key = certificates.path("client.key");
  const auto stream = open(options);
  CHECK(publish(*stream, {message("a")}) == 1);
  CHECK(Reader(*stream).next().content == "a");
}

TEST_CASE("TLS refuses a certificate with another name or of another authority") {
  const Certificates certificates;
  const Certificates others;
  const auto error_of = [](const std::string& configuration, const std::string& authority) {
    const NatsServers servers(1, configuration);
    auto options = options_of(servers);
    options.servers = "tls://" + servers.url(0);
    options.tls_ca = authority;
    const auto stream = Stream::open(options);
    REQUIRE(stream);
    CHECK(!(*stream)->is_connected());
    const auto result = (*stream)->publish(std::array{message("a")}, kShort);
    REQUIRE(!result);
    return result.error().message;
  };
  CHECK(error_of(certificates.configuration("other"), certificates.path("ca.pem"))
            .contains("mismatch"));
  CHECK(error_of(certificates.configuration("server"), others.path("ca.pem"))
            .contains("certificate"));
  CHECK(error_of("", certificates.path("ca.pem")).contains("Secure"));  // a server without TLS
}
