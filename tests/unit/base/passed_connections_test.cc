#include "quarry/base/passed_connections.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "quarry/base/descriptor_message.h"

using namespace quarry::base;

namespace {

std::array<Fd, 2> make_stream() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

PassedConnections make_passed() {
  auto passed = PassedConnections::make();
  REQUIRE(passed);
  return std::move(*passed);
}

}  // namespace

TEST_CASE("a connection is passed on with its unread data") {
  auto passed = make_passed();
  CHECK_FALSE(take_connection(passed.taking.get()));
  auto stream = make_stream();
  REQUIRE(::write(stream[0].get(), "hello", 5) == 5);
  REQUIRE(pass_connection(passed.passing.get(), stream[1].get()));
  stream[1].reset();
  const Fd taken = take_connection(passed.taking.get());
  REQUIRE(taken);
  std::string text(10, '\0');
  CHECK(::read(taken.get(), text.data(), text.size()) == 5);
  CHECK(text.starts_with("hello"));
  CHECK_FALSE(take_connection(passed.taking.get()));
}

TEST_CASE("connections are not passed to a receiver that is slow or gone") {
  auto passed = make_passed();
  const auto stream = make_stream();
  int count = 0;
  while (count < 100'000 && pass_connection(passed.passing.get(), stream[1].get())) ++count;
  CHECK(count > 10);
  CHECK(count < 100'000);
  CHECK(take_connection(passed.taking.get()));
  CHECK(pass_connection(passed.passing.get(), stream[1].get()));
  passed.taking.reset();
  CHECK_FALSE(pass_connection(passed.passing.get(), stream[1].get()));
}

TEST_CASE("a descriptor that is not a socket is not a connection") {
  auto passed = make_passed();
  REQUIRE(::send(passed.passing.get(), "x", 1, 0) == 1);
  CHECK_FALSE(take_connection(passed.taking.get()));
}

TEST_CASE("descriptors of a malformed message, or beyond the buffer, are closed") {
  auto passed = make_passed();
  const auto stream = make_stream();
  const int lowest = ::dup(0);
  ::close(lowest);
  constexpr std::array kTwo{std::byte{0}, std::byte{0}};
  const std::array two{stream[0].get(), stream[1].get()};
  const int socket = passed.passing.get();
  REQUIRE(send_descriptors(socket, kTwo, two));
  CHECK_FALSE(take_connection(passed.taking.get()));
  REQUIRE(send_descriptors(socket, std::span(kTwo).first(1), two));
  std::array room{-1};
  std::array<std::byte, 1> byte{};
  CHECK(receive_descriptors(passed.taking.get(), byte, room) == 1);
  CHECK(room[0] == lowest);
  ::close(lowest);
  const int after = ::dup(0);
  CHECK(after == lowest);
  ::close(after);
}
