#include "quarry/control/channel.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <string>

using namespace quarry::control;

TEST_CASE("a message arrives as it was sent, and an empty channel has none") {
  auto ends = Channel::make_pair();
  REQUIRE(ends);
  auto& [master, child] = *ends;
  Message message{};
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
}

TEST_CASE("malformed messages are detected, whatever their length") {
  auto ends = Channel::make_pair();
  REQUIRE(ends);
  auto& [master, child] = *ends;
  const std::string zeros(8, '\0');
  for (const std::string& bytes : {std::string("x"), zeros, std::string("\1\x63\0\0\0\0\0\0", 8),
                                   std::string("\1\1\1\0\0\0\0\0", 8), std::string(9000, 'x')}) {
    REQUIRE(::send(child.fd(), bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
    Message message{};
    CHECK(master.receive(&message) == Received::kMalformed);
  }
}

TEST_CASE("a sender whose reader is slow drops the message and does not block") {
  auto ends = Channel::make_pair();
  REQUIRE(ends);
  bool dropped = false;
  for (int i = 0; i < 100000 && !dropped; ++i) dropped = !ends->second.send({Verb::kBackoffice});
  CHECK(dropped);
}

TEST_CASE("the end of the other side is noticed") {
  auto ends = Channel::make_pair();
  REQUIRE(ends);
  ends->first.close();
  Message message{};
  CHECK(ends->second.receive(&message) == Received::kClosed);
  CHECK_FALSE(ends->second.send({Verb::kBackoffice}));
}
