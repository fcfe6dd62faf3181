// Kills a process (SIGKILL) before each of its file operations on a stream. The process reports
// each acknowledged message through a pipe.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>
#include <string>

#include "killing_files.h"
#include "stream_world.h"
#include "temporary_folder.h"

using namespace quarry::spool;

namespace {

constexpr std::uint64_t kKilledMessages = 30;

void send_event(int pipe, char what, std::uint64_t number) {
  const std::array<char, 2> record{what, static_cast<char>(number)};
  (void)!::write(pipe, record.data(), record.size());
}

/// Takes a batch from SUBSCRIPTION and settles its messages one by one. Gives up every seventh
/// message.
void deliver(Subscription& subscription, int pipe) {
  const auto taken = subscription.take(4);
  for (std::size_t i = 0; taken && i < taken->size(); ++i) {
    const StreamedMessage& message = taken->at(i);
    const bool is_bad = message.id % 7 == 0;
    send_event(pipe, 'a', message.id);
    const Settlement one{.sequence = message.sequence,
                         .outcome = is_bad ? Outcome::kGivenUp : Outcome::kDone};
    if (subscription.settle(std::span(&one, 1))) send_event(pipe, is_bad ? 'g' : 'd', message.id);
  }
}

/// Runs in the child process until it is killed or the stream is closed.
[[noreturn]] void live(const StreamOptions& options, int fuse_length, int pipe) {
  Fuse fuse(fuse_length);
  KillingFiles files(fuse);
  {
    const auto stream = Stream::open(options, {}, {.files = files});
    if (!stream) ::_exit(3);
    const auto mail = (*stream)->subscribe("mail");
    if (!mail) ::_exit(3);
    send_event(pipe, 's', 0);
    for (std::uint64_t number = 1; number <= kKilledMessages; number += 5) {
      std::vector<NewMessage> messages;
      for (std::uint64_t i = 0; i < 5; ++i) messages.push_back(numbered_message(number + i));
      if (!(*stream)->append(messages)) ::_exit(3);
      for (std::uint64_t i = 0; i < 5; ++i) send_event(pipe, 't', number + i);
      deliver(**mail, pipe);
    }
    for (int i = 0; i < 3; ++i) deliver(**mail, pipe);
  }
  send_event(pipe, 'e', 0);
  ::_exit(0);
}

using KilledIds = std::set<std::uint64_t>;
struct Account {
  KilledIds taken, asked, done, given_up;
  bool is_subscribed = false;
  bool is_ended = false;
};

Account account_of(const StreamOptions& options, int fuse_length) {
  Account account;
  hear_of_life([&](int pipe) { live(options, fuse_length, pipe); },
               [&account](char what, std::uint8_t number) {
                 if (what == 's') account.is_subscribed = true;
                 if (what == 't') account.taken.insert(number);
                 if (what == 'a') account.asked.insert(number);
                 if (what == 'd') account.done.insert(number);
                 if (what == 'g') account.given_up.insert(number);
                 if (what == 'e') account.is_ended = true;
               });
  return account;
}

}  // namespace

TEST_CASE("a stream whose process is killed at any operation loses and repeats nothing") {
  int fuse_length = 0;
  for (bool is_ended = false; !is_ended; ++fuse_length) {
    CAPTURE(fuse_length);
    const TemporaryFolder folder;
    StreamOptions options = stream_options(false);
    options.location.folder = folder.path();
    const Account account = account_of(options, fuse_length);
    is_ended = account.is_ended;
    if (!account.is_subscribed) continue;
    Fuse fuse(Fuse::kEndless);
    KillingFiles files(fuse);
    StreamWorld world(files, options);
    const auto mail = world.subscribe("mail");
    KilledIds dead;
    for (const auto& letter : world.dead_letters("mail")) CHECK(dead.insert(letter.id).second);
    const auto rest = drain(*mail);
    const KilledIds again(rest.begin(), rest.end());
    CHECK(again.size() == rest.size());
    for (const std::uint64_t id : account.taken) {
      CAPTURE(id);
      if (!account.asked.contains(id)) CHECK(again.contains(id));
      if (account.done.contains(id)) CHECK_FALSE(again.contains(id));
      if (account.given_up.contains(id)) CHECK((dead.contains(id) && !again.contains(id)));
    }
    CHECK(world.reported.find("damaged") == std::string::npos);
    REQUIRE(fuse_length < 5000);
  }
  CHECK(fuse_length > 80);
}
