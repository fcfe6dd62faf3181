#include "quarry/base/socket.h"
#include "connect_to.h"
#include "temporary_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace quarry::base;

TEST_CASE("socket addresses are parsed in all forms and formatted the same") {
  for (const std::string text : {"127.0.0.1:9000", "[::1]:9000", "/run/quarry.sock", "[::]:80"}) {
    const auto address = SocketAddress::parse(text);
    REQUIRE(address);
    CHECK(address->str() == text);
  }
  CHECK(SocketAddress::parse("localhost:81")->str() == "127.0.0.1:81");
  CHECK(SocketAddress::parse("9000")->str() == "127.0.0.1:9000");
  CHECK(SocketAddress::parse("127.0.0.1:9000")->port() == 9000);
  CHECK(SocketAddress::parse("/run/quarry.sock")->path() == "/run/quarry.sock");
}

TEST_CASE("text that is not a socket address is refused") {
  for (const std::string text : {"", ":", "-1", "65536", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
                                 "1.2.3:80", "::1:80", "[::1]", "example.org:80", "80x"}) {
    CAPTURE(text);
    CHECK_FALSE(SocketAddress::parse(text));
  }
  CHECK_FALSE(SocketAddress::parse("/" + std::string(200, 'x')));
}

TEST_CASE("loopback and equal addresses are recognized in IPv4-mapped form, too") {
  CHECK(SocketAddress::parse("127.3.2.1:1")->is_loopback());
  CHECK(SocketAddress::parse("[::1]:1")->is_loopback());
  CHECK(SocketAddress::parse("[::ffff:127.0.0.1]:1")->is_loopback());
  CHECK_FALSE(SocketAddress::parse("10.0.0.1:1")->is_loopback());
  CHECK_FALSE(SocketAddress::parse("/run/x")->is_loopback());
  CHECK(SocketAddress::parse_ip("10.0.0.1")->same_ip(*SocketAddress::parse("[::ffff:10.0.0.1]:5")));
  CHECK_FALSE(SocketAddress::parse_ip("10.0.0.1")->same_ip(*SocketAddress::parse_ip("10.0.0.2")));
  CHECK(SocketAddress::parse("[::ffff:10.0.0.1]:5")->ip() == "10.0.0.1");
}

TEST_CASE("a Unix socket is non-blocking, has its mode, and replaces a stale one") {
  const TemporaryFolder dir;
  const auto address = SocketAddress::parse((dir / "s").string());
  REQUIRE(address);
  ListenOptions options;
  options.mode = 0600;
  {
    const auto first = listen_on(*address, options);
    REQUIRE(first);
    CHECK((::fcntl(first->get(), F_GETFL) & O_NONBLOCK) != 0);
    struct stat status {};
    REQUIRE(::stat((dir / "s").string().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
    CHECK(connect_to(*address));
    const auto second = listen_on(*address, options);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == ErrorCode::kBusy);
  }
  CHECK_FALSE(connect_to(*address));
  CHECK(listen_on(*address, options));
}

TEST_CASE("the check for a running server does not connect to it") {
  const TemporaryFolder dir;
  const auto address = SocketAddress::parse((dir / "s").string());
  const auto first = listen_on(*address);
  REQUIRE(first);
  REQUIRE_FALSE(listen_on(*address));
  CHECK(::accept(first->get(), nullptr, nullptr) == -1);
  CHECK(errno == EAGAIN);
}

TEST_CASE("listening on port 0 picks a free port that can be queried") {
  const auto listener = listen_on(*SocketAddress::parse("127.0.0.1:0"));
  REQUIRE(listener);
  const auto bound = local_address(*listener);
  REQUIRE(bound);
  CHECK(bound->ip() == "127.0.0.1");
  CHECK(bound->port() != 0);
  CHECK(connect_to(*bound));
}

TEST_CASE("a file that is not a socket is never removed to make room for one") {
  const TemporaryFolder dir;
  std::ofstream((dir / "precious").string()) << "data";
  CHECK_FALSE(listen_on(*SocketAddress::parse((dir / "precious").string())));
  CHECK(std::filesystem::file_size((dir / "precious").string()) == 4);
}

TEST_CASE("bytes that the peer has not read are known") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const Fd own(ends[0]);
  const Fd other(ends[1]);
  CHECK(unacknowledged(own.get()) == 0);
  std::array<char, 1000> bytes{};
  REQUIRE(::write(own.get(), bytes.data(), bytes.size()) == 1000);
  CHECK(unacknowledged(own.get()) >= 1000);
  REQUIRE(::read(other.get(), bytes.data(), bytes.size()) == 1000);
  CHECK(unacknowledged(own.get()) == 0);
  CHECK(unacknowledged(-1) == 0);
}
