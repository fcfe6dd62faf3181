// Tests the transfer of messages from other processes to a stream. A misbehaving client must not
// affect other clients.
#include "quarry/spool/hand_over.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "connect_to.h"
#include "eventually.h"
#include "hand_over_frames.h"
#include "killing_files.h"
#include "quarry/base/socket.h"
#include "segments/little_endian.h"
#include "stream_world.h"
#include "temporary_folder.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;

namespace {

std::vector<NewMessage> numbered_messages(std::uint64_t first, std::uint64_t last) {
  std::vector<NewMessage> all;
  for (std::uint64_t i = first; i <= last; ++i) all.push_back(numbered_message(i));
  return all;
}

std::string request(std::uint64_t first, std::uint64_t last) {
  return request_frame(numbered_messages(first, last)).value();
}

std::string frame_of(std::string_view body) {
  std::string frame;
  append_text<std::uint32_t>(frame, body);
  return frame;
}

quarry::base::Fd listen_at(const std::string& path) {
  auto fd = quarry::base::listen_on(quarry::base::SocketAddress::parse(path).value());
  REQUIRE(fd);
  return std::move(*fd);
}

/// A connection that can send arbitrary bytes.
class RawClient {
 public:
  explicit RawClient(const std::string& path) {
    auto fd = connect_to(quarry::base::SocketAddress::parse(path).value());
    REQUIRE(fd);
    fd_ = std::move(*fd);
  }

  int fd() const { return fd_.get(); }
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;  // the server has disconnected
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  /// Waits until the connection is readable or closed. Returns false after TIME.
  bool has_news(std::chrono::milliseconds time) const {
    pollfd one{.fd = fd(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, static_cast<int>(time.count())) == 1;
  }
  /// Reads one answer, or the bytes that arrive before the server disconnects.
  std::string read() const {
    std::string bytes;
    std::array<char, 512> buffer;
    while (has_news(kPatienceTime)) {
      const std::size_t wanted =
          bytes.size() < kFrameHeader ? kFrameHeader : kFrameHeader + body_length(bytes);
      const ssize_t count =
          ::recv(fd(), buffer.data(), std::min(buffer.size(), wanted - bytes.size()), 0);
      if (count <= 0) break;
      bytes.append(buffer.data(), static_cast<std::size_t>(count));
      if (bytes.size() == wanted && wanted > kFrameHeader) break;
    }
    return bytes;
  }
  /// Returns true if the server disconnects without an answer.
  bool is_dropped() const {
    std::array<char, 1> byte;
    return has_news(kPatienceTime) && ::recv(fd(), byte.data(), 1, 0) <= 0;
  }

 private:
  quarry::base::Fd fd_;
};

quarry::base::Result<std::uint64_t> answer_in(std::string_view frame) {
  return decode_answer(frame.substr(std::min<std::size_t>(4, frame.size())));
}

/// A stream with a server for hand-overs.
struct Server : MailWorld {
  explicit Server(const HandOverOptions& how = {}) {
    server = std::move(*HandOverServer::start(
        *stream, listen_at(path), [this](const std::string&) { ++dropped; }, how));
  }
  HandOver client() const { return {path, 60s}; }
  /// Sends messages FIRST to LAST to the server. Returns the id of the first message, or 0 on an
  /// error.
  std::uint64_t hand_over(std::uint64_t first, std::uint64_t last) const {
    return client().hand_over(numbered_messages(first, last)).value_or(0);
  }

  TemporaryFolder folder;
  std::string path = folder.string() + "/socket";
  std::atomic<int> dropped{0};
  std::unique_ptr<HandOverServer> server;
};

}  // namespace

TEST_CASE_FIXTURE(
    Server, "a message that is handed over is in the stream with its key and the returned id") {
  CHECK(hand_over(1, 3) == 1);
  CHECK(hand_over(4, 4) == 4);
  const std::vector<NewMessage> large{{.content = std::string(3'000'000, 'x'), .severity = 2}};
  CHECK(client().hand_over(large) == 5);
  const auto taken = mail->take(10);
  REQUIRE((taken && taken->size() == 5));
  CHECK(taken->at(3).content == "message 4");
  CHECK(taken->at(3).key == "k4");
  CHECK(taken->at(4).content == large[0].content);
  CHECK(taken->at(4).severity == 2);
}

TEST_CASE_FIXTURE(Server,
                  "messages are acknowledged only when they are on disk and survive a power cut") {
  const RawClient client(path);
  bool is_early = false;
  std::size_t calls = 0;
  files.before = [&](std::uint64_t) -> std::optional<Error> {
    ++calls;
    is_early = is_early || client.has_news(0ms);
    return std::nullopt;
  };
  client.send(request(1, 50));
  CHECK(answer_in(client.read()) == 1);
  CHECK(calls > 2);
  CHECK_FALSE(is_early);
  files.before = {};
  const auto& operations = files.operations();
  MemoryFileSystem found(MemoryFileSystem::after_a_stop({}, operations, operations.size(),
                                                        [](std::size_t) { return false; }));
  const StreamWorld after(found);
  CHECK(drain(*after.subscribe("mail")) == ids(1, 50));
}

TEST_CASE_FIXTURE(Server,
                  "if a sync fails, the client gets the error, and the next request may succeed") {
  std::atomic<bool> is_full{true};
  files.before = [&](std::uint64_t) -> std::optional<Error> {
    if (!is_full) return std::nullopt;
    return Error{ErrorCode::kNoSpace, "No space left on device"};
  };
  const auto refused = client().hand_over(numbered_messages(1, 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kNoSpace);
  CHECK(refused.error().message == "No space left on device");
  is_full = false;
  CHECK(hand_over(1, 1));
  CHECK(drain(*mail) == ids(1, 1));
}

TEST_CASE_FIXTURE(Server,
                  "requests that arrive during a sync are written together, with one sync") {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_held = false;
  bool may_go = false;
  files.before = [&](std::uint64_t) -> std::optional<Error> {
    std::unique_lock lock(mutex);
    is_held = true;
    changed.notify_all();
    changed.wait(lock, [&] { return may_go; });
    return std::nullopt;
  };
  const RawClient first(path);
  first.send(request(1, 1));
  std::vector<RawClient> others;
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_held; });
    for (std::uint64_t i = 0; i < 20; ++i) others.emplace_back(path).send(request(1, 2));
    may_go = true;
    changed.notify_all();
  }
  CHECK(answer_in(first.read()) == 1);
  std::set<std::uint64_t> firsts;
  for (const RawClient& other : others) firsts.insert(answer_in(other.read()).value_or(0));
  CHECK(firsts.size() == 20);
  CHECK(*firsts.begin() == 2);
  CHECK(*firsts.rbegin() == 40);
  const auto syncs =
      std::ranges::count(files.operations(), FileOperation::Kind::kSync, &FileOperation::kind);
  // Twenty requests need only a few syncs, because the server syncs several requests together.
  CHECK(syncs < 10);
  CHECK(drain(*mail) == ids(1, 41));
}

TEST_CASE_FIXTURE(Server,
                  "a client with an invalid request is disconnected, and others are served") {
  std::string whole = request(1, 2);
  std::string more_than_there_is = whole;
  more_than_there_is[4] = 9;
  std::string long_key = whole;
  long_key[9] = '\xff';
  std::string severe = whole;
  severe[8] = 8;
  std::string four_gib = frame_of("x");
  four_gib.replace(0, 4, "\xff\xff\xff\xff");
  const std::vector<std::string> lies{frame_of(""),
                                      frame_of("x"),
                                      four_gib,
                                      more_than_there_is,
                                      long_key,
                                      severe,
                                      frame_of(whole),
                                      "GET / HTTP/1.1\r\n\r\n",
                                      frame_of(std::string(4, '\0')),
                                      frame_of(std::string("\xff\xff\xff\xff", 4) + "xxxxxxxxxx")};
  for (std::size_t i = 0; i < lies.size(); ++i) {
    CAPTURE(i);
    const RawClient liar(path);
    liar.send(lies[i]);
    CHECK(liar.is_dropped());
    CHECK(dropped == static_cast<int>(i) + 1);
    CHECK(hand_over(1, 1) == i + 1);
  }
}

TEST_CASE("a client that stalls or is idle is disconnected in time") {
  HandOverOptions options;
  options.time_out = 50ms;
  options.max_clients = 2;
  Server server(options);
  const RawClient stopped(server.path);
  stopped.send(request(1, 5).substr(0, 20));
  const RawClient quiet(server.path);
  // The server serves two clients at a time, so the third client waits until another client is
  // disconnected.
  CHECK(server.hand_over(1, 1) == 1);
  CHECK(stopped.is_dropped());
  CHECK(quiet.is_dropped());
}

TEST_CASE_FIXTURE(Server,
                  "a request in single bytes, and several on one connection, are accepted") {
  const RawClient client(path);
  for (const char byte : request(1, 2)) client.send(std::string(1, byte));
  CHECK(answer_in(client.read()) == 1);
  client.send(request(1, 2) + request(3, 3));
  CHECK(answer_in(client.read()) == 3);
  CHECK(answer_in(client.read()) == 5);
}

TEST_CASE("clients that flood the server cannot exceed the memory limit for all clients") {
  HandOverOptions options;
  options.max_request_bytes = kMaxHandOver + 64;
  Server server(options);
  const std::vector<NewMessage> large{{.content = std::string(12 << 20, 'x')}};
  const std::string whole = request_frame(large).value();
  // This client uses most of the allowed memory with an incomplete request.
  const RawClient holder(server.path);
  holder.send(std::string_view(whole).substr(0, 1 << 20));
  // The server therefore does not read from the second client, and that client's writes block.
  const RawClient second(server.path);
  REQUIRE(::fcntl(second.fd(), F_SETFL, O_NONBLOCK) == 0);
  second.send(whole);
  pollfd writable{.fd = second.fd(), .events = POLLOUT, .revents = 0};
  CHECK(::poll(&writable, 1, 200) == 0);
  std::atomic<int> served{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { served += server.client().hand_over(large).has_value() ? 1 : 0; });
  }
  // A small request still fits into the remaining memory.
  CHECK(server.hand_over(1, 1));
  holder.send(std::string_view(whole).substr(1 << 20));
  CHECK(answer_in(holder.read()));
  ::shutdown(second.fd(), SHUT_RDWR);
  threads.clear();
  CHECK(served == 3);
}

TEST_CASE("a call ends in time, with an error that says whether messages may be in the stream") {
  const TemporaryFolder folder;
  const std::string path = folder.string() + "/socket";
  const auto error = [&](const std::vector<NewMessage>& messages) {
    const auto given = HandOver(path, 50ms).hand_over(messages);
    REQUIRE_FALSE(given);
    return given.error().code;
  };
  CHECK(error(numbered_messages(1, 1)) == ErrorCode::kNotFound);
  CHECK(error({}) == ErrorCode::kLimit);
  CHECK(error({{.content = std::string(kMaxHandOver, 'x')}}) == ErrorCode::kLimit);
  const quarry::base::Fd listener = listen_at(path);
  // The listener does not accept connections, so the calls reach their timeout.
  CHECK(error(numbered_messages(1, 1)) == ErrorCode::kBusy);
  CHECK(error({{.content = std::string(4 << 20, 'x')}}) == ErrorCode::kBusy);
}

TEST_CASE("an interrupted call soon returns without an answer") {
  const TemporaryFolder folder;
  const std::string path = folder.string() + "/socket";
  const quarry::base::Fd listener = listen_at(path);
  int checks = 0;
  const HandOver client(path, 1h, [&] { return ++checks > 2; });
  for (const auto& messages : {numbered_messages(1, 1), {{.content = std::string(4 << 20, 'x')}}}) {
    const auto given = client.hand_over(messages);
    REQUIRE_FALSE(given);
    CHECK(given.error().code == ErrorCode::kBusy);
    CHECK(given.error().message == path + ": interrupted; some messages might have been stored");
  }
}

TEST_CASE("the request of a client that has given up is not stored") {
  const TemporaryFolder folder;
  const std::string path = folder.string() + "/socket";
  quarry::base::Fd listener = listen_at(path);
  CHECK(HandOver(path, 50ms).hand_over(numbered_messages(1, 1)).error().code == ErrorCode::kBusy);
  const MailWorld world;
  const auto server =
      HandOverServer::start(*world.stream, std::move(listener), [](const std::string&) {});
  REQUIRE(server);
  CHECK(HandOver(path, 60s).hand_over(numbered_messages(1, 1)) == 1);
}

TEST_CASE("if the server exits, a call sends its messages to the next server") {
  const MailWorld world;
  const TemporaryFolder folder;
  const std::string path = folder.string() + "/socket";
  quarry::base::Fd listener = listen_at(path);
  std::unique_ptr<HandOverServer> next;
  std::jthread first([&] {
    pollfd one{.fd = listener.get(), .events = POLLIN, .revents = 0};
    ::poll(&one, 1, static_cast<int>(kPatienceTime.count()));
    ::close(::accept(listener.get(), nullptr, nullptr));  // without an answer
    next = HandOverServer::start(*world.stream, std::move(listener), [](const std::string&) {
           }).value();
  });
  CHECK(HandOver(path, 60s).hand_over(numbered_messages(1, 2)) == 1);
  first.join();
  CHECK(take_ids(*world.mail) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("messages that a killed process had acknowledged are in the stream") {
  const std::string padding(200, '.');
  std::size_t whole = 0;
  for (int fuse_length = 0; whole == 0; ++fuse_length) {
    CAPTURE(fuse_length);
    REQUIRE(fuse_length < 500);
    const TemporaryFolder folder;
    StreamOptions options = stream_options();
    options.location.folder = folder.path() / "spool";
    const std::string path = folder.string() + "/socket";
    quarry::base::Fd listener = listen_at(path);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Fuse fuse(fuse_length);
      KillingFiles files(fuse);
      const auto stream = Stream::open(options, {}, {.files = files});
      if (!stream || !(*stream)->subscribe("mail")) ::_exit(3);
      const auto server = HandOverServer::start(**stream, std::move(listener), {});
      while (true) ::pause();
    }
    listener.reset();
    std::vector<std::string> acknowledged;
    for (int i = 0; i < 12; ++i) {
      const std::vector<NewMessage> messages(2, {.content = std::to_string(i) + padding});
      if (!HandOver(path, 60s).hand_over(messages)) break;
      acknowledged.push_back(messages[0].content);
    }
    if (acknowledged.size() == 12) whole = acknowledged.size();
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    if (acknowledged.empty()) continue;
    Fuse fuse(Fuse::kEndless);
    KillingFiles files(fuse);
    const StreamWorld world(files, options);
    std::vector<std::string> found;
    const auto taken = world.subscribe("mail")->take(1000);
    REQUIRE(taken);
    for (const auto& message : *taken) found.push_back(message.content);
    CHECK(found.size() >= 2 * acknowledged.size());
    for (std::size_t i = 0; i < acknowledged.size(); ++i) {
      CHECK(std::ranges::count(found, acknowledged[i]) == 2);
    }
  }
}
