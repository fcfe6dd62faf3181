#include "quarry/control/channel.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <string>

#include "quarry/control/reopened_logs.h"

using namespace quarry::control;

namespace {

struct Ends {
  std::pair<Channel, Channel> pair = std::move(*Channel::make_pair());
  Channel& master = pair.first;
  Channel& child = pair.second;
  Message message{};
};

}  // namespace

TEST_CASE_FIXTURE(Ends, "a message arrives as it was sent, and an empty channel has none") {
  CHECK(master.receive(&message) == Received::kNothing);
  CHECK(child.send({Verb::kBackoffice, 17}));
  CHECK(child.send({Verb::kBackoffice}));
  REQUIRE(master.receive(&message) == Received::kMessage);
  CHECK(message.verb == Verb::kBackoffice);
  CHECK(message.number == 17);
  REQUIRE(master.receive(&message) == Received::kMessage);
  CHECK(message.verb == Verb::kBackoffice);
  CHECK(child.send({Verb::kAgain, 60}));
  REQUIRE(master.receive(&message) == Received::kMessage);
  CHECK(message.verb == Verb::kAgain);
  CHECK(message.number == 60);
  for (const Verb verb : {Verb::kBackoffice, Verb::kEvents}) {
    CHECK(child.send({verb, 17, 3600}));
    REQUIRE(master.receive(&message) == Received::kMessage);
    CHECK(message.verb == verb);
    CHECK(message.number == 17);
    CHECK(message.delay == 3600);
  }
}

TEST_CASE_FIXTURE(Ends, "malformed messages are detected, whatever their length") {
  const std::string zeros(8, '\0');
  for (const std::string& bytes : {std::string("x"), zeros, std::string("\1\x63\0\0\0\0\0\0", 8),
                                   std::string("\1\6\1\0\0\0\0\0", 8),
                                   std::string("\1\1\1\0\0\0\0\0", 8), std::string(9000, 'x')}) {
    REQUIRE(::send(child.fd(), bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
    CHECK(master.receive(&message) == Received::kMalformed);
  }
}

TEST_CASE_FIXTURE(Ends, "a sender whose reader is slow drops the message and does not block") {
  bool dropped = false;
  for (int i = 0; i < 100000 && !dropped; ++i) dropped = !child.send({Verb::kBackoffice});
  CHECK(dropped);
}

TEST_CASE_FIXTURE(Ends, "the end of the other side is noticed") {
  master.close();
  CHECK(child.receive(&message) == Received::kClosed);
  CHECK_FALSE(child.send({Verb::kBackoffice}));
}

TEST_CASE_FIXTURE(
    Ends, "reopened logs are refused by a child that does not read, not by one that exits") {
  bool is_taken = true;
  for (int i = 0; i < 100000 && is_taken; ++i) is_taken = send_logs(master, nullptr);
  CHECK_FALSE(is_taken);
  child.close();
  CHECK(send_logs(master, nullptr));
  master.close();
  CHECK_FALSE(send_logs(master, nullptr));
}
