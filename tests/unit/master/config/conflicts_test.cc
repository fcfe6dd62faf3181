#include "config/conflicts.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "temporary_folder.h"

using namespace quarry::master;
using quarry::base::ListenOptions;
using quarry::base::SocketAddress;

namespace {

Credentials who(uid_t user, gid_t group, std::vector<gid_t> more = {}) {
  return {.user = "somebody", .uid = user, .gid = group, .home = "", .groups = std::move(more)};
}

/// Returns true if a server cannot listen on both addresses.
bool collide(const char* one, const char* other) {
  Listens listens;
  CHECK_FALSE(listens.add(*SocketAddress::parse(one), "a"));
  return listens.add(*SocketAddress::parse(other), "b").has_value();
}

/// Returns true if FRONT is not allowed to connect to POOL, whose socket the master creates as
/// root.
bool is_refused(const PoolConfig& pool, const Credentials& front) {
  return why_front_is_refused(pool, front).has_value();
}

PoolConfig pool_on(const char* address, std::vector<const char*> allowed = {}) {
  PoolConfig pool;
  pool.name = "www";
  pool.listen = *SocketAddress::parse(address);
  for (const char* each : allowed) pool.allowed_clients.push_back(*SocketAddress::parse_ip(each));
  return pool;
}

}  // namespace

TEST_CASE("an address collides with itself and with all addresses that have its port") {
  CHECK(collide("/run/a.sock", "/run/a.sock"));
  CHECK_FALSE(collide("/run/a.sock", "/run/b.sock"));
  CHECK(collide("9000", "127.0.0.1:9000"));
  CHECK(collide("0.0.0.0:9000", "127.0.0.1:9000"));
  CHECK(collide("127.0.0.1:9000", "[::]:9000"));
  CHECK(collide("[::]:9000", "[::1]:9000"));
  CHECK(collide("0.0.0.0:9000", "[::]:9000"));
  Listens listens;
  CHECK_FALSE(listens.add(*SocketAddress::parse("0.0.0.0:9000"), "http"));
  CHECK_FALSE(listens.add(*SocketAddress::parse("[::]:9000"), "http", /*is_ipv6_only=*/true));
  CHECK(listens.add(*SocketAddress::parse("[::1]:9000"), "a"));
  CHECK(listens.add(*SocketAddress::parse("127.0.0.1:9000"), "a"));
  CHECK_FALSE(collide("0.0.0.0:9000", "[::1]:9000"));
  CHECK_FALSE(collide("[::]:9000", "[::]:9001"));
  CHECK_FALSE(collide("127.0.0.1:0", "127.0.0.1:0"));
  CHECK_FALSE(collide("127.0.0.1:9000", "127.0.0.2:9000"));
}

TEST_CASE("a socket's owner, its group and users in its access list may connect") {
  const Credentials root{};
  const ListenOptions plain{.owner = 7, .group = 70, .mode = 0660};
  CHECK(may_connect(plain, root, root));
  CHECK(may_connect(plain, root, who(7, 1)));
  CHECK(may_connect(plain, root, who(8, 70)));
  CHECK(may_connect(plain, root, who(8, 1, {70})));
  CHECK_FALSE(may_connect(plain, root, who(8, 1)));
  CHECK(may_connect({.owner = 7, .group = 70, .mode = 0662}, root, who(8, 1)));
  // As for files, only the first matching class (owner, group, others) counts.
  CHECK_FALSE(may_connect({.owner = 7, .group = 70, .mode = 0066}, root, who(7, 1)));
  CHECK_FALSE(may_connect({.owner = 7, .group = 70, .mode = 0606}, root, who(8, 70)));

  const ListenOptions listed{
      .owner = 7, .group = 70, .mode = 0600, .access = {.users = {9}, .groups = {90}}};
  CHECK(may_connect(listed, root, who(9, 1)));
  CHECK(may_connect(listed, root, who(8, 90)));
  CHECK(may_connect(listed, root, who(8, 0, {90})));
  CHECK_FALSE(may_connect(listed, root, who(7, 70)));
  CHECK_FALSE(may_connect(listed, root, who(8, 0)));
}

TEST_CASE("a pool refuses a front that its socket or allowed addresses exclude") {
  PoolConfig pool = pool_on("/run/www.sock");
  pool.listen_options = {.owner = 7, .group = 70, .mode = 0660};
  CHECK_FALSE(is_refused(pool, who(7, 70)));
  CHECK(is_refused(pool, who(8, 80)));
  CHECK_FALSE(why_front_is_refused(pool, std::nullopt));
  pool.listen_options.mode = 0060;
  CHECK(why_front_is_refused(pool, std::nullopt));

  const Credentials front = who(8, 80);
  CHECK_FALSE(is_refused(pool_on("127.0.0.1:9000"), front));
  CHECK_FALSE(is_refused(pool_on("[::]:9000"), front));
  CHECK(is_refused(pool_on("192.0.2.1:9000"), front));
  CHECK_FALSE(is_refused(pool_on("192.0.2.1:9000", {"192.0.2.1"}), front));
  CHECK(is_refused(pool_on("0.0.0.0:9000", {"192.0.2.1"}), front));
  CHECK_FALSE(is_refused(pool_on("0.0.0.0:9000", {"192.0.2.1", "127.0.0.1"}), front));
  CHECK(is_refused(pool_on("[::]:9000", {"127.0.0.1"}), front));
}

TEST_CASE("the pid file and a log, or logs of two kinds, must be different files") {
  WrittenFiles files;
  CHECK_FALSE(files.add("global", "pid", "/nowhere/quarry.pid"));
  CHECK_FALSE(files.add("global", "error_log", "/nowhere/log"));
  CHECK(files.add("www", "access.log", "/nowhere/log") ==
        "access.log: /nowhere/log is also the error_log of [global]");
  CHECK(files.add("www", "slowlog", "/nowhere/./quarry.pid").has_value());
}

TEST_CASE("different paths to one file are recognized") {
  const TemporaryFolder folder;
  std::ofstream(folder / "log") << "";
  std::filesystem::create_symlink(folder / "log", folder / "link");
  WrittenFiles files;
  CHECK_FALSE(files.add("global", "error_log", folder / "log"));
  CHECK(files.add("www", "access.log", folder / "link").has_value());
}

TEST_CASE("pools may share a log of one kind, and paths that are not files may take all lines") {
  WrittenFiles files;
  CHECK_FALSE(files.add("a", "access.log", "/nowhere/log"));
  CHECK_FALSE(files.add("b", "access.log", "/nowhere/log"));
  for (const char* path : {"", "/dev/null", "/dev/stderr", "/proc/self/fd/2"}) {
    CAPTURE(path);
    CHECK_FALSE(files.add("a", "access.log", path));
    CHECK_FALSE(files.add("a", "slowlog", path));
  }
}
