#include "replica_configuration.h"
#include "configuration.h"
#include "temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using quarry::app::ReplicaConfig;
using namespace std::chrono_literals;

namespace {

constexpr auto kMinimal =
    "[replication]\nservers = nats://127.0.0.1:4222\ngroup = team\nhost = one\n";

/// A folder with the repository and folder of two pools, and a configuration file.
class TwoPools {
 public:
  TwoPools() { std::ofstream(folder_ / "one.fossil") << std::string("SQLite format 3\0", 16); }
  std::string folder() const { return folder_.string(); }
  /// Returns two pools: [www] serves a file, and [mirror] serves a folder. MORE and MIRRORS are
  /// additional lines of [www] and [mirror].
  std::string pools(const std::string& more = "", const std::string& mirrors = "") const {
    return "[www]\nlisten = 9001\nrepository = " + folder() + "/one.fossil\n" + more +
           "[mirror]\nlisten = 9002\nrepositories = " + folder() + "\n" + mirrors;
  }
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "q.conf") << text;
    return (folder_ / "q.conf").string();
  }

 private:
  TemporaryFolder folder_;
};

/// Returns the mistakes in TEXT, joined by "|".
std::string mistakes_in(const std::string& text, bool root = false) {
  std::string all;
  for (const std::string& each :
       quarry::app::parse_configuration(text, "q.conf", {.running_as_root = root}).mistakes) {
    all += (all.empty() ? "" : "|") + each;
  }
  return all;
}

/// Returns the mistakes in a [replication] section with LINES.
std::string mistakes_with(const std::string& lines) {
  return mistakes_in(TwoPools().pools() + "[replication]\ngroup = team\nhost = one\n" + lines);
}

std::vector<std::string> names_of(const ReplicaConfig& config) {
  std::vector<std::string> names;
  for (const auto& pool : config.options.pools) names.push_back(pool.name);
  return names;
}

}  // namespace

TEST_CASE("the section [replication] is read into options of quarry-replica") {
  const TwoPools world;
  const auto reading = quarry::app::parse_configuration(
      world.pools() +
          "[replication]\nservers = tls://a.example:4222, tls://[2001:db8::1]:4222\n"
          "group = team\nhost = one\nreplicas = 1\nacknowledge = local\n"
          "acknowledge_timeout = 3s\ncredentials = /etc/c\ntls_ca = /etc/ca\n"
          "tls_certificate = /etc/cert\ntls_key = /etc/key\nkeep = 1d\n"
          "keep_size = 2G\npools = www\nsocket = /run/r.sock\ndirectory = /var/r\n",
      "q.conf");
  REQUIRE(reading.mistakes.empty());
  const auto config = quarry::app::replica_config_in(reading.config);
  REQUIRE(config);
  const auto& stream = config->options.stream;
  CHECK(stream.servers == "tls://a.example:4222,tls://[2001:db8::1]:4222");
  CHECK(stream.group == "team");
  CHECK(stream.host == "one");
  CHECK(stream.replicas == 1);
  CHECK(stream.credentials == "/etc/c");
  CHECK(stream.tls_ca == "/etc/ca");
  CHECK(stream.tls_certificate == "/etc/cert");
  CHECK(stream.tls_key == "/etc/key");
  CHECK(stream.keep == 24h);
  CHECK(stream.keep_size == std::uint64_t{2} << 30);
  CHECK_FALSE(config->options.waits_for_quorum);
  CHECK(config->options.acknowledge_timeout == 3s);
  CHECK(config->options.folder == "/var/r");
  CHECK(config->socket == "/run/r.sock");
  REQUIRE(config->options.pools.size() == 1);
  CHECK(config->options.pools[0].name == "www");
  CHECK(config->options.pools[0].path == world.folder() + "/one.fossil");
  CHECK_FALSE(config->options.pools[0].is_folder);
}

TEST_CASE("without the directive pools, all pools are replicated") {
  const TwoPools world;
  const auto reading = quarry::app::parse_configuration(world.pools() + kMinimal, "q.conf");
  REQUIRE(reading.mistakes.empty());
  const auto config = quarry::app::replica_config_in(reading.config);
  REQUIRE(config);
  CHECK(names_of(*config) == std::vector<std::string>{"www", "mirror"});
  CHECK(config->options.pools[1].path == world.folder());
  CHECK(config->options.pools[1].is_folder);
  CHECK(config->options.waits_for_quorum);
}

TEST_CASE("quarry-replica ignores other sections, except the repositories of pools") {
  const TwoPools world;
  const auto reading = quarry::app::read_replica_config(world.file(
      "[global]\nerror_log = relative\n[http]\nlisten = nonsense\n"
      "[peer a]\npool = www\nrepository = one\nurl = /x\n[courier]\nsocket = /x\n" +
      world.pools("user = nobody-knows\n") +
      "[jail]\nlisten = 9003\nchroot = /\nrepository = /x\n" +
      "[named]\nlisten = 9004\nrepositories = " + world.folder() + "/$pool\n" + kMinimal));
  CHECK(reading.mistakes.empty());
  CHECK(names_of(reading.config) == std::vector<std::string>{"www", "mirror", "named"});
  CHECK(reading.config.options.pools[2].path == world.folder() + "/named");
}

TEST_CASE("a file without [replication] is a mistake for quarry-replica") {
  const TwoPools world;
  const std::string file = world.file(world.pools());
  CHECK(quarry::app::read_replica_config(file).mistakes ==
        std::vector<std::string>{file + ": no [replication] section"});
}

TEST_CASE("servers, group and host are required") {
  CHECK(mistakes_in(TwoPools().pools() + "[replication]\ngroup = g\nhost = h\n") ==
        "q.conf:7: [replication] needs servers");
  CHECK(mistakes_in(TwoPools().pools() + "[replication]\nservers = nats://localhost\nhost = h\n") ==
        "q.conf:7: [replication] needs group");
  CHECK(
      mistakes_in(TwoPools().pools() + "[replication]\nservers = nats://localhost\ngroup = g\n") ==
      "q.conf:7: [replication] needs host");
}

TEST_CASE("names that cannot be part of a subject are rejected") {
  const std::string pools = TwoPools().pools();
  CHECK(mistakes_in(pools + "[replication]\ngroup = a.b\n")
            .contains("group: must have 1 to 64 letters"));
  CHECK(mistakes_in(pools + "[replication]\nhost = a b\n")
            .contains("host: must have 1 to 64 letters"));
}

TEST_CASE("an address that is not loopback needs TLS and credentials") {
  for (const char* loopback : {"localhost", "127.0.0.2", "127.0.0.1:4222", "[::1]:4222"}) {
    CAPTURE(loopback);
    CHECK(mistakes_with(std::string("servers = nats://") + loopback + "\n").empty());
  }
  for (const char* other :
       {"10.0.0.1:4222", "nats.example", "localhost.example", "[2001:db8::1]"}) {
    CAPTURE(other);
    CHECK(mistakes_with(std::string("servers = nats://localhost, nats://") + other + "\n")
              .contains("is not a loopback address: use tls://"));
    CHECK(mistakes_with(std::string("servers = tls://") + other + "\n")
              .contains("needs credentials, because tls://"));
    CHECK(mistakes_with(std::string("credentials = /c\nservers = tls://") + other + "\n").empty());
  }
}

TEST_CASE("the URL of a server must have a known scheme and a host, and no password") {
  CHECK(mistakes_with("servers = http://localhost\n").contains("does not begin with nats://"));
  CHECK(mistakes_with("servers = nats://\n").contains("does not contain a host"));
  CHECK(mistakes_with("servers = tls://localhost, nats://localhost\n")
            .contains("servers: either all or none of the URLs must begin with tls://"));
  const std::string mistake = mistakes_with("servers = tls://me:secret@host\n");
  CHECK(mistake.contains("must not contain a user or password; use credentials"));
  CHECK_FALSE(mistake.contains("secret"));
}

TEST_CASE("a certificate needs its key") {
  CHECK(mistakes_with("servers = nats://localhost\ntls_key = /k\n")
            .contains("needs both tls_certificate and tls_key, or neither"));
}

TEST_CASE("a pool that does not exist cannot be replicated") {
  CHECK(mistakes_in(TwoPools().pools() + kMinimal + "pools = www, other\n") ==
        "q.conf:11: [replication] pools: [other] does not exist");
}

TEST_CASE("pools of different users cannot be replicated together") {
  const TwoPools two;
  const std::string pools = two.pools("user = root\n", "user = daemon\n") + kMinimal;
  CHECK(mistakes_in(pools, /*root=*/true) ==
        "q.conf:9: [replication] pools: [www] and [mirror] have different users, root and daemon: "
        "quarry-replica needs one user for all of them");
  CHECK(mistakes_in(pools + "pools = mirror\n", /*root=*/true).empty());
}

TEST_CASE("a pool with a chroot is not replicated") {
  const TwoPools world;
  std::filesystem::create_directory(world.folder() + "/jail");
  const std::string pools =
      "[jail]\nuser = root\nlisten = 9003\nchroot = " + world.folder() + "\nrepositories = /jail\n";
  const std::string all = world.pools("user = root\n", "user = root\n") + pools + kMinimal;
  CHECK(mistakes_in(all, /*root=*/true).empty());
  CHECK(mistakes_in(all + "pools = jail\n", /*root=*/true)
            .contains("[replication] pools: [jail] has a chroot"));
  CHECK(mistakes_in(pools + kMinimal, /*root=*/true)
            .contains("[replication] all pools have a chroot"));
}
