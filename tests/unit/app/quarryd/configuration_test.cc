#include "configuration.h"
#include "peer_configuration.h"
#include "temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

using namespace quarry::master;
using quarry::app::gateway_options_in;
using quarry::app::parse_configuration;
using quarry::app::peers_in;
using quarry::app::read_configuration;
using quarry::app::worker_options_in;
using namespace std::chrono_literals;

namespace {

/// Provides a folder with one file, for directives that require an existing file.
class World {
 public:
  World() { std::ofstream(file()) << std::string("SQLite format 3\0", 16); }
  std::string folder() const { return folder_.string(); }
  std::string file() const { return (folder_ / "one.fossil").string(); }
  std::string pool(const std::string& more = "") const {
    return "[www]\nlisten = /tmp/x.sock\nrepository = " + file() + "\n" + more;
  }

 private:
  TemporaryFolder folder_;
};

ConfigReading read(const std::string& text, bool root = false) {
  return parse_configuration(text, "q.conf", {.running_as_root = root});
}

/// Returns the error messages for TEXT, joined by "|".
std::string mistake(const std::string& text, bool root = false) {
  std::string all;
  for (const std::string& line : read(text, root).mistakes) all += line + "|";
  if (!all.empty()) all.pop_back();
  return all;
}

}  // namespace

TEST_CASE("a whole configuration is read into numbers, addresses and users") {
  const World world;
  const ConfigReading reading = read(
      "[global]\nlog_level = debug\npid = /run/q.pid\nprocess_control_timeout = 2m\n"
      "[http]\nlisten = 127.0.0.1:8080\nmax_body = 16M\ntrusted_proxies = 10.0.0.0/8, ::1\n"
      "[www]\nuser = root\nlisten = /run/quarry/$pool.sock\nlisten.mode = 0600\npm = static\n"
      "pm.max_children = 12\npm.max_requests = 500\nrequest_terminate_timeout = 30s\n"
      "rlimit_files = 4096\ntrust_remote_user = yes\nrepository.cache = 3\nsync.max_gimme = 3\n"
      "sync.refuse_own_server_code = yes\nsync.single_login = yes\nrepositories = " +
          world.folder() + "\n",
      true);
  REQUIRE(reading.mistakes.empty());
  const Config& config = reading.config;
  CHECK(config.global.log.level == quarry::base::LogLevel::kDebug);
  CHECK(config.global.process_control_timeout == 120s);
  REQUIRE(config.http);
  CHECK(gateway_options_in(*config.http).max_body == 16U << 20);
  REQUIRE(config.http->trusted_proxies.size() == 2);
  REQUIRE(config.pools.size() == 1);
  const PoolConfig& pool = config.pools[0];
  CHECK(pool.listen->path() == "/run/quarry/www.sock");
  CHECK(pool.listen_options.mode == 0600U);
  CHECK(pool.processes.max_children == 12);
  CHECK(worker_options_in(pool).max_requests == 500);
  CHECK(pool.request_terminate_timeout == 30s);
  CHECK(pool.process.limits.files == 4096U);
  CHECK(worker_options_in(pool).trust_remote_user);
  CHECK(worker_options_in(pool).cache == 3);
  CHECK(worker_options_in(pool).session.max_gimme == 3);
  CHECK(worker_options_in(pool).session.refuse_own_server_code);
  CHECK(worker_options_in(pool).session.single_login);
  REQUIRE(pool.run_as);
  CHECK(pool.run_as->uid == 0);
  CHECK(&config.pool_of_http() == &pool);
}

TEST_CASE("the limits of the HTTP front are set in its options") {
  const World world;
  const ConfigReading reading = read(
      "[http]\nlisten = 127.0.0.1:8080\nmax_bodies = 2M\nmax_reply = 3M\nmax_replies = 4M\n"
      "keepalive_timeout = 5s\nclient_timeout = 6s\npool_timeout = 7s\nmax_connections = 8\n"
      "max_connections_per_address = 9\n" +
      world.pool());
  REQUIRE(reading.mistakes.empty());
  const auto options = gateway_options_in(*reading.config.http);
  CHECK(options.max_bodies == 2U << 20);
  CHECK(options.max_reply == 3U << 20);
  CHECK(options.max_replies == 4U << 20);
  CHECK(options.keepalive_timeout == 5s);
  CHECK(options.client_timeout == 6s);
  CHECK(options.pool_timeout == 7s);
  CHECK(options.max_connections == 8);
  CHECK(options.max_connections_per_address == 9);
}

TEST_CASE("exceptions for confined pages are absolute paths, separated by commas") {
  const World world;
  const ConfigReading reading = read(world.pool(
      "pages = fossil\npages.allow_write = /var/mail , /srv/x,\npages.allow_execute = /ext\n"));
  REQUIRE(reading.mistakes.empty());
  const auto options = worker_options_in(reading.config.pools[0]).pages;
  CHECK(options.is_confined);
  CHECK(options.allow_write == std::vector<std::string>{"/var/mail", "/srv/x"});
  CHECK(options.allow_execute == std::vector<std::string>{"/ext"});
  CHECK(mistake(world.pool("pages.allow_write = /a, b\n")) ==
        "q.conf:4: pages.allow_write: \"b\" is not an absolute path");
}

TEST_CASE("a script that makes pages cannot be confined without its interpreter") {
  const World world;
  const std::string program = world.folder() + "/wrapper";
  std::ofstream(program) << "#!/bin/sh\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string pool = world.pool("pages = fossil\npages.program = " + program + "\n");
  CHECK(mistake(pool) ==
        "[www] pages.program: " + program +
            " is a script: list its interpreter and the programs that it starts in "
            "pages.allow_execute, or set pages.confine = no");
  CHECK(mistake(pool + "pages.allow_execute = /bin/sh\n").empty());
  CHECK(mistake(pool + "pages.confine = no\n").empty());
}

TEST_CASE("the spare servers of a dynamic pool must be consistent") {
  const World world;
  const auto dynamic = [&](const std::string& min, const std::string& max,
                           const std::string& more = "") {
    return read(world.pool("pm = dynamic\npm.max_children = 9\npm.min_spare_servers = " + min +
                           "\npm.max_spare_servers = " + max + "\n" + more));
  };
  const ConfigReading good = dynamic("2", "5");
  REQUIRE(good.mistakes.empty());
  CHECK(good.config.pools[0].processes.manager == ProcessManager::kDynamic);
  CHECK_MESSAGE(good.config.pools[0].processes.start_servers == 3, "in the middle of the two");
  CHECK(dynamic("2", "5", "pm.start_servers = 5\n").config.pools[0].processes.start_servers == 5);
  const auto mistakes = [](const ConfigReading& reading) {
    std::string all;
    for (const std::string& one : reading.mistakes) all += one + "\n";
    return all;
  };
  CHECK(mistakes(dynamic("6", "5")) ==
        "q.conf:6: pm.min_spare_servers: 6 is more than pm.max_spare_servers, 5\n");
  CHECK(mistakes(dynamic("2", "10")) ==
        "q.conf:7: pm.max_spare_servers (10) is more than pm.max_children (9)\n");
  CHECK(mistakes(dynamic("2", "5", "pm.start_servers = 6\n")) ==
        "q.conf:8: pm.start_servers: 6 is not between pm.min_spare_servers, 2, and "
        "pm.max_spare_servers, 5\n");
  CHECK(mistakes(read(world.pool("pm = dynamic\n"))) ==
        "q.conf:1: [www] needs pm.min_spare_servers = NUMBER with pm = dynamic\n"
        "q.conf:1: [www] needs pm.max_spare_servers = NUMBER with pm = dynamic\n");
}

TEST_CASE("each wrong value is reported with file and line") {
  const World world;
  const auto wrong = [&](const std::string& line) { return mistake(world.pool(line + "\n")); };
  CHECK(wrong("colour = red") == "q.conf:4: unknown directive colour");
  CHECK(wrong("pm = sometimes") ==
        "q.conf:4: pm: \"sometimes\" is not one of static, dynamic, ondemand");
  CHECK(wrong("pm = ondemand\npm.process_idle_timeout = 0") ==
        "q.conf:5: pm.process_idle_timeout: must be at least 1ms");
  CHECK(wrong("pm.max_children = 0") ==
        "q.conf:4: pm.max_children: \"0\" is not a whole number from 1 to 10000");
  CHECK(wrong("pm.max_children = -1").starts_with("q.conf:4: pm.max_children"));
  CHECK(wrong("max_body = lots") ==
        "q.conf:4: max_body: \"lots\" is not a size: expected bytes, or a number followed by K, M "
        "or G");
  CHECK(wrong("max_body = 99999999999G").starts_with("q.conf:4: max_body"));
  CHECK(wrong("read_timeout = 5y").starts_with("q.conf:4: read_timeout: \"5y\" is not a duration"));
  CHECK(wrong("read_timeout = 0") == "q.conf:4: read_timeout: must be at least 1ms");
  CHECK(wrong("listen.mode = 0999").starts_with("q.conf:4: listen.mode"));
  CHECK(wrong("trust_remote_user = perhaps") ==
        "q.conf:4: trust_remote_user: \"perhaps\" is neither yes nor no");
  CHECK(wrong("listen.allowed_clients = 10.0.0.1, example.org") ==
        "q.conf:4: listen.allowed_clients: \"example.org\" is not an IPv4 or IPv6 address");
  CHECK(wrong("access.log = log") == "q.conf:4: access.log: \"log\" is not an absolute path");
  CHECK(mistake("[http]\nlisten = 127.0.0.1:1\ntrusted_proxies = 10.0.0.0/33\n" + world.pool()) ==
        "q.conf:3: trusted_proxies: \"33\" is not a whole number from 0 to 32");
  CHECK(wrong("user = no-such-user") == "q.conf:4: user: user \"no-such-user\" does not exist");
  CHECK(wrong("group = root") == "q.conf:4: group also needs user");
  CHECK(wrong("pm.max_children 3") == "q.conf:4: the line is neither [section] nor key = value");
  CHECK(wrong("proxy ann:pen@host") == "q.conf:4: the line is neither [section] nor key = value");
  CHECK(mistake("[global]\nlog_level = loud\n" + world.pool()) ==
        "q.conf:2: log_level: \"loud\" is not one of debug, notice, warning, error, alert");
  CHECK(mistake("[global]\nerror_log = log\nlog_limit = 511\nlog_format = xml\n"
                "syslog.facility = loud\nsyslog.ident = a b\nlog_buffering = 2\n" +
                world.pool()) ==
        "q.conf:2: error_log: \"log\" is neither an absolute path nor stderr, syslog, "
        "journald or destination:NAME|"
        "q.conf:3: log_limit: \"511\" is not a whole number from 512 to 2147483647|"
        "q.conf:4: log_format: \"xml\" is not one of text, json|"
        "q.conf:5: syslog.facility: \"loud\" is not a facility of syslog(3), such as daemon or "
        "local0|"
        "q.conf:6: syslog.ident: must be one word of at most 64 printable characters|"
        "q.conf:7: log_buffering: \"2\" is neither yes nor no");
  CHECK(wrong("access.format = %R %z") == "q.conf:4: access.format: unknown placeholder %z");
  CHECK(wrong("access.suppress_path[] = ping") ==
        "q.conf:4: access.suppress_path[]: \"ping\" is not an absolute path");
  CHECK(
      mistake("[global]\ndaemonize = perhaps\n" + world.pool()).starts_with("q.conf:2: daemonize"));
  CHECK(mistake("[global]\nlisten = 1\n" + world.pool()) == "q.conf:2: unknown directive listen");
}

TEST_CASE("a wrong line in a pool is reported once, with its line number") {
  const World world;
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {"pm.max_childrens = 3", "unknown directive pm.max_childrens"},
           {"daemonize = yes", "unknown directive daemonize"},
           {"access.suppress_path = /ping", "unknown directive access.suppress_path"},
           {"access.suppress_path[x] = /ping", "unknown directive access.suppress_path[x]"},
           {"env[] = x", "a name consists of letters"},
           {"\x1b[2Jc = 1", R"(unknown directive \x1b[2Jc)"},
           {"wide\xff = 1", "unknown directive wide"},
           {"pm = \x07", R"(pm: "\x07" is not one of)"},
           {"pm.max_children = many", "not a whole number from 1 to 10000"},
           {"pm.max_children = 1.5", "not a whole number from 1 to 10000"},
           {"pm.max_children = 10001", "not a whole number from 1 to 10000"},
           {"pm.max_children = 99999999999999999999999", "not a whole number from 1 to 10000"},
           {"pm.max_children =", "not a whole number from 1 to 10000"},
           {"pm.max_requests = -1", "not a whole number from 0"},
           {"max_body = 3 parsecs", "not a size"},
           {"max_body = 0", "not a size"},
           {"listen.mode = rw-rw----", "not a file mode"},
           {"listen.backlog = 70000", "not a whole number from 1 to 65535"},
           {"process.priority = 21", "from -19 to 20"},
           {"rlimit_core = most", "unlimited"},
           {"chdir = /no/such/folder", "is not a folder"},
           {"slowlog = slow.log", "not an absolute path"},
           {"pm.status_listen = 127.0.0.1:99999", "not a port"},
           {"pm.status_listen = /" + std::string(200, 's'), "is longer than 107"},
           {"listen = /again.sock", "listen is already set on line"},
           {std::string(500'000, 'x') + " = 1", "unknown directive xxx"},
           {"pm.max_requests = " + std::string(400'000, '9'), "not a whole number from 0"}}) {
    CAPTURE(line.substr(0, 60));
    const std::string found = mistake(world.pool(line + "\n"));
    CHECK(found.starts_with("q.conf:4: "));
    CHECK(found.find(why) != std::string::npos);
    CHECK(found.size() < 1000);
    CHECK(std::ranges::all_of(found, [](char c) { return c >= ' ' || c < 0; }));
  }
}

TEST_CASE("an error in a section is reported with its line number") {
  const World world;
  const std::string b = "[b]\nuser = root\nrepositories = /\n";
  for (const auto& [section, line, why] : std::vector<std::tuple<std::string, int, std::string>>{
           {"[www]\nlisten = 1\n", 5, "[www] already exists"},
           {"[other\nlisten = 1\n", 5, "a section must be written as [NAME]"},
           {"[]\n", 5, "a section must be written as [NAME]"},
           {"[" + std::string(33, 'n') + "]\nlisten = 1\nrepositories = /\nuser = root\n", 5,
            "at most 32"},
           {"[b]\nlisten = 9\nuser = root\nrepository = /etc/passwd\n", 8,
            "is not a Fossil repository"},
           {"[b]\nlisten = 9\nuser = root\nrepository = /etc\n", 8,
            "is a folder: set repositories = FOLDER instead"},
           {b + "listen = b.sock\n", 8, "or the path of a socket, which starts with /"},
           {b + "listen = run/b.sock\n", 8, "is not an absolute path"},
           {b + "listen = http://x\n", 8, "not an absolute path"},
           {b + "listen = 65536\n", 8, "not a port"},
           {b + "listen = /" + std::string(107, 's') + "\n", 8, "is longer than 107"},
           {b + "listen = 9\ngroup = no-such-group\n", 6, "group \"no-such-group\" does not exist"},
           {b + "listen = 9\nlisten.owner = no-such-user\n", 9,
            "user \"no-such-user\" does not exist"},
           {b + "listen = 9\nlisten.group = no-such-group\n", 9,
            "group \"no-such-group\" does not exist"},
           {"[global]\nprocess.max = -1\n", 6, "not a whole number from 0"},
           {"[global]\npid = quarry.pid\n", 6, "not an absolute path"},
           {"[global]\nerror_log = /nowhere/one.log\npid = /nowhere/one.log\n"
            "control.socket = off\n",
            6, "is also the pid of [global]"}}) {
    CAPTURE(section);
    const std::string all = "|" + mistake(world.pool("user = root\n" + section), true);
    const std::size_t at = all.find("|q.conf:" + std::to_string(line) + ": ");
    REQUIRE(at != std::string::npos);
    CHECK(all.find(why, at) != std::string::npos);
  }
}

TEST_CASE("environment variables are expanded in any value") {
  const World world;
  ::setenv("QUARRY_TEST_CHILDREN", "7", 1);
  ::setenv("QUARRY_TEST_EMPTY", "", 1);
  ::setenv("QUARRY_TEST_AGAIN", "${HOME}", 1);
  const ConfigReading reading =
      read(world.pool("pm.max_children = ${QUARRY_TEST_CHILDREN}\n"
                      "trust_remote_user = ${QUARRY_TEST_EMPTY:-yes}\n"
                      "ping.path = /${QUARRY_TEST_NONE:-a}/${QUARRY_TEST_CHILDREN}\n"));
  REQUIRE(reading.mistakes.empty());
  const PoolConfig& pool = reading.config.pools[0];
  CHECK(pool.processes.max_children == 7);
  CHECK(worker_options_in(pool).trust_remote_user);
  CHECK(pool.ping_path == "/a/7");
  for (const auto& [value, why] : std::vector<std::pair<std::string, std::string>>{
           {"${QUARRY_TEST_NONE}", "environment variable is not set"},
           {"${QUARRY_TEST", "is not closed by }"},
           {"${}", "environment variable is not set"},
           {"${QUARRY_TEST_AGAIN}", "the value of this variable"}}) {
    CAPTURE(value);
    const std::string found = mistake(world.pool("ping.response = " + value + "\n"));
    CHECK(found.starts_with("q.conf:4: ping.response: "));
    CHECK(found.find(why) != std::string::npos);
  }
}

TEST_CASE("durations from milliseconds to days are read, and printed in the same form by a dump") {
  const World world;
  for (const auto& [text, time, shown] :
       std::vector<std::tuple<std::string, std::chrono::milliseconds, std::string>>{
           {"7", 7s, "7s"},
           {"500ms", 500ms, "500ms"},
           {"1500ms", 1500ms, "1500ms"},
           {"2000ms", 2s, "2s"},
           {"2m", 2min, "120s"},
           {"365d", 365 * 24h, "31536000s"}}) {
    CAPTURE(text);
    const auto reading = read(world.pool("read_timeout = " + text + "\n"));
    REQUIRE(reading.mistakes.empty());
    CHECK(worker_options_in(reading.config.pools[0]).read_timeout == time);
    CHECK(dump(reading.config).find("\nread_timeout = " + shown + "\n") != std::string::npos);
  }
  for (const char* text : {"0.5s", "5 ms", "5mss", "ms", "", "5M", "-1ms", "0ms"}) {
    CAPTURE(text);
    CHECK(read(world.pool("read_timeout = " + std::string(text) + "\n")).mistakes.size() == 1);
  }
  CHECK(mistake(world.pool("read_timeout = 366d\n")) ==
        "q.conf:4: read_timeout: \"366d\" is too long: at most 365d");
}

TEST_CASE("with a prefix, paths may be relative to it, except those inside a chroot") {
  const World world;
  const std::string name = std::filesystem::path(world.file()).filename();
  const std::string text =
      "[global]\nerror_log = log/quarryd.log\npid = run/q.pid\n[http]\nlisten = 127.0.0.1:80\n"
      "[www]\nlisten = run/$pool.sock\nslowlog = /var/log/slow.log\naccess.log = log/$pool.log\n"
      "access.suppress_path[] = /ping\nchdir = .\nrepository = " +
      name + "\n";
  CHECK(read(text).mistakes.size() == 6);
  const auto reading = parse_configuration(text, "q.conf", {.prefix = world.folder()});
  REQUIRE(reading.mistakes.empty());
  const auto& [global, http, pools, carried] = reading.config;
  CHECK(global.log.path == world.folder() + "/log/quarryd.log");
  CHECK(global.pid_file == world.folder() + "/run/q.pid");
  CHECK(global.control->path() == world.folder() + "/run/q.control");
  CHECK(pools[0].listen->path() == world.folder() + "/run/www.sock");
  CHECK(pools[0].slow_log.path == "/var/log/slow.log");
  CHECK(pools[0].access.path == world.folder() + "/log/www.log");
  CHECK(pools[0].repository == world.file());
  for (const char* log : {"stderr", "syslog", "journald"}) {
    const auto named =
        parse_configuration("[global]\nerror_log = " + std::string(log) + "\n" + world.pool(),
                            "q.conf", {.prefix = world.folder()});
    CHECK(quarry::base::log_target_of(named.config.global.log) == log);
  }
  const auto inside = parse_configuration(
      "[www]\nlisten = 9000\nuser = root\nchroot = .\nrepository = " + name + "\n", "q.conf",
      {.running_as_root = true, .prefix = world.folder()});
  REQUIRE(inside.mistakes.size() == 1);
  CHECK(inside.mistakes[0] == "q.conf:5: repository: \"" + name + "\" is not an absolute path");
}

TEST_CASE("missing and contradictory directives are reported at the start of the section") {
  const World world;
  CHECK(mistake("") ==
        "q.conf: no pool is defined: add a section such as [www] with listen and "
        "repository");
  CHECK(mistake("[a]\nrepository = " + world.file() + "\n") ==
        "q.conf:1: [a] needs listen = PATH or ADDRESS:PORT");
  CHECK(mistake("[a]\nlisten = 9000\n") ==
        "q.conf:1: [a] needs repository = FILE or repositories = FOLDER");
  CHECK(mistake(world.pool("repositories = " + world.folder() + "\n"))
            .starts_with("q.conf:1: [www] has both"));
  CHECK(mistake("[a]\nlisten = 9000\nrepository = /nowhere/x.fossil\n") ==
        "q.conf:3: repository: /nowhere/x.fossil is not a file");
  CHECK(mistake("[a]\nlisten = 9000\nrepositories = " + world.file() + "\n") ==
        "q.conf:3: repositories: " + world.file() + " is a file: set repository = FILE instead");
  CHECK(mistake("[a]\nlisten = /tmp/x.sock\nrepository = " + world.file() + "\n" + world.pool()) ==
        "q.conf:4: [a] and [www] both listen on /tmp/x.sock");
}

TEST_CASE("status paths have the same restrictions as in PHP-FPM") {
  const World world;
  const auto wrong = [&](const std::string& lines) { return mistake(world.pool(lines + "\n")); };
  for (const char* path : {"status", "/", "/a b", "/a?b", "/\xc3\xa4", "/<a>"}) {
    CAPTURE(path);
    CHECK(wrong(std::string("pm.status_path = ") + path).starts_with("q.conf:4: pm.status_path"));
    CHECK(wrong(std::string("ping.path = ") + path).starts_with("q.conf:4: ping.path: "));
  }
  CHECK(wrong("pm.status_path = /a-Z_0.9/~x") == "");
  CHECK(wrong("ping.response =") == "q.conf:4: ping.response: must not be empty");
  CHECK(wrong("pm.status_path = /a\nping.path = /a") ==
        "q.conf:5: ping.path and pm.status_path are the same");
  CHECK(wrong("pm.status_listen = /tmp/y.sock") ==
        "q.conf:4: pm.status_listen also needs pm.status_path = PATH");
  CHECK(wrong("pm.status_path = /a\npm.status_listen = /tmp/x.sock") ==
        "q.conf:1: [www] and [www] both listen on /tmp/x.sock");
  const ConfigReading reading =
      read(world.pool("pm.status_path = /a\npm.status_listen = 9001\n"
                      "ping.path = /b\nping.response = a b\n"));
  REQUIRE(reading.mistakes.empty());
  const PoolConfig& pool = reading.config.pools[0];
  CHECK(pool.status_path == "/a");
  CHECK(pool.status_listen->port() == 9001);
  CHECK(pool.ping_path == "/b");
  CHECK(pool.ping_response == "a b");
  CHECK(read(world.pool()).config.pools[0].status_path.empty());
  CHECK(read(world.pool()).config.pools[0].ping_path.empty());
}

TEST_CASE("the HTTP front needs an address and an existing pool") {
  const World world;
  CHECK(mistake("[http]\n" + world.pool()) == "q.conf:1: [http] needs listen = ADDRESS:PORT");
  CHECK(mistake("[http]\nlisten = /x\n" + world.pool()) ==
        "q.conf:1: [http] listens on ADDRESS:PORT, not on a path");
  CHECK(mistake("[http]\nlisten = 127.0.0.1:80\npool = web\n" + world.pool()) ==
        "q.conf:1: [http]: pool \"web\" does not exist");
  const std::string two = world.pool() + "[b]\nlisten = 9000\nrepository = " + world.file() + "\n";
  CHECK(mistake("[http]\nlisten = 127.0.0.1:80\n" + two) ==
        "q.conf:1: [http] needs pool = NAME, because there are several pools");
  CHECK(mistake("[http]\nlisten = 127.0.0.1:80\npool = b\n" + two).empty());
}

TEST_CASE(
    "a front that may not connect to its pool is reported at the line that restricts access") {
  const World world;
  const auto said = [&](const std::string& words) {
    return mistake(
        "[http]\nlisten = 127.0.0.1:80\nuser = nobody\n[www]\nuser = root\nrepository = " +
            world.file() + "\n" + words,
        true);
  };
  CHECK(said("listen = /tmp/x.sock\nlisten.acl_users = daemon\n") ==
        "q.conf:8: [http] runs as nobody and cannot connect to the socket of [www]: allow "
        "it with listen.acl_users, listen.group or listen.mode");
  CHECK(said("listen = /tmp/x.sock\nlisten.acl_users = daemon, nobody\n").empty());
  CHECK(said("listen = /tmp/x.sock\nlisten.owner = daemon\n").starts_with("q.conf:8: [http]"));
  CHECK(said("listen = /tmp/x.sock\nlisten.owner = nobody\n").empty());
  CHECK(said("listen = 9000\nlisten.allowed_clients = 192.0.2.1\n") ==
        "q.conf:8: [http] connects to [www] from 127.0.0.1, which is not in "
        "listen.allowed_clients");
  CHECK(said("listen = 9000\n").empty());
}

TEST_CASE("addresses that conflict are reported at the second pool") {
  const World world;
  const std::string other = "[other]\nrepository = " + world.file() + "\n";
  CHECK(mistake(world.pool("pm.status_path = /s\npm.status_listen = 0.0.0.0:7\n") + other +
                "listen = 7\n") ==
        "q.conf:6: [other] cannot listen on 127.0.0.1:7, because [www] listens on 0.0.0.0:7");
  CHECK(mistake("[global]\npid = /tmp/x.sock\ncontrol.socket = off\n" + world.pool()) ==
        "q.conf: pid: /tmp/x.sock is the socket of [www]");
}

TEST_CASE("a pool needs a user if the server runs as root, and only then") {
  const World world;
  CHECK(mistake(world.pool(), true).starts_with("q.conf:1: [www] needs user = NAME"));
  CHECK(mistake(world.pool("user = root\n"), true).empty());
  CHECK(mistake(world.pool(), false).empty());
  CHECK_FALSE(read(world.pool("user = root\n"), false).config.pools[0].run_as);
}

TEST_CASE("all errors in a file are reported at once, in line order") {
  const World world;
  CHECK(mistake("[global]\nx = 1\n[http]\nlisten = nowhere\n[p]\nlisten 3\nuser = nobody-here\n") ==
        "q.conf:2: unknown directive x|"
        "q.conf:4: listen: \"nowhere\" is not a port (0 to 65535) or the path of a socket, "
        "which starts with /|"
        "q.conf:5: [p] needs listen = PATH or ADDRESS:PORT|"
        "q.conf:5: [p] needs repository = FILE or repositories = FOLDER|"
        "q.conf:6: the line is neither [section] nor key = value|"
        "q.conf:7: user: user \"nobody-here\" does not exist");
}

TEST_CASE("a file that cannot be read is reported by name") {
  const World world;
  CHECK(read_configuration(world.folder() + "/none.conf").mistakes.size() == 1);
  std::ofstream(world.folder() + "/q.conf") << world.pool();
  CHECK(read_configuration(world.folder() + "/q.conf").mistakes.empty());
}

TEST_CASE("a slow log needs a file, and an access list replaces the socket's owner") {
  const World world;
  CHECK(mistake(world.pool("request_slowlog_timeout = 5s\n")) ==
        "q.conf:4: request_slowlog_timeout also needs slowlog = FILE");
  CHECK(mistake(world.pool("request_slowlog_timeout = 5s\nslowlog = /tmp/slow\n")).empty());
  CHECK(mistake(world.pool("listen.acl_users = root, nobody-here\n")) ==
        "q.conf:4: listen.acl_users: user \"nobody-here\" does not exist");
  CHECK(mistake(world.pool("listen.acl_groups = nobody-here\n")) ==
        "q.conf:4: listen.acl_groups: group \"nobody-here\" does not exist");
  const ConfigReading reading =
      read(world.pool("user = root\nlisten.acl_users = root , 7\nlisten.owner = root\n"), true);
  CHECK(reading.mistakes.empty());
  const quarry::base::ListenOptions& options = reading.config.pools[0].listen_options;
  CHECK(options.access.users == std::vector<uid_t>{0, 7});
  CHECK(options.owner == static_cast<uid_t>(-1));
  CHECK(reading.notices.size() == 1);
}

TEST_CASE("a directive that needs root is a notice for other users, with file and line") {
  const World world;
  const std::string text = world.pool("user = root\nlisten.owner = root\nprocess.priority = -1\n");
  CHECK(read(text, true).notices.empty());
  const ConfigReading reading = read(text, false);
  CHECK(reading.mistakes.empty());
  REQUIRE(reading.notices.size() == 3);
  CHECK(reading.notices[0] == "q.conf:4: user is ignored: quarryd does not run as root");
  CHECK(reading.notices[1] == "q.conf:5: listen.owner is ignored: quarryd does not run as root");
  CHECK(reading.notices[2].starts_with("q.conf:6: process.priority below 0 is ignored"));
}

TEST_CASE("with a chroot, repositories are inside it, and the front needs a TCP address") {
  const World world;
  const std::string inside = "[www]\nuser = root\nlisten = /tmp/x.sock\nchroot = " + world.folder();
  CHECK(mistake(inside + "\nrepository = /one.fossil\n", true).empty());
  CHECK(mistake(inside + "\nrepository = /two.fossil\n", true) ==
        "q.conf:5: repository: " + world.folder() + "/two.fossil is not a file");
  CHECK(mistake("[http]\nlisten = 127.0.0.1:1\nchroot = /\n" + world.pool("user = root\n"), true)
            .starts_with("q.conf:1: [http] cannot reach /tmp/x.sock from its chroot"));
}

TEST_CASE("included files are read in place, and errors name them") {
  const World world;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(world.folder() + "/" + name) << text;
    return world.folder() + "/" + name;
  };
  const std::string main = write(
      "main.conf", "[global]\ninclude = " + world.folder() + "/pool.d/*.conf\nlog_level = debug\n");
  std::filesystem::create_directory(world.folder() + "/pool.d");
  const ConfigReading none = read_configuration(main, {.running_as_root = true});
  REQUIRE(none.notices.size() == 1);
  CHECK(none.notices[0] ==
        main + ":2: include: no file matches " + world.folder() + "/pool.d/*.conf");
  CHECK(none.mistakes.size() == 1);

  const auto pool = [&](const std::string& name, const std::string& more = "") {
    return "[" + name + "]\nuser = root\nlisten = /run/" + name +
           ".sock\nrepository = " + world.file() + "\n" + more;
  };
  write("pool.d/b.conf", pool("two"));
  write("pool.d/a.conf", pool("one"));
  const ConfigReading good = read_configuration(main, {.running_as_root = true});
  REQUIRE(good.mistakes.empty());
  REQUIRE(good.config.pools.size() == 2);
  CHECK(good.config.pools[0].name == "one");
  CHECK(good.config.pools[1].name == "two");
  CHECK(good.config.global.log.level == quarry::base::LogLevel::kDebug);

  const std::string wrong = write("pool.d/b.conf", pool("two", "colour = red\n"));
  const ConfigReading bad = read_configuration(main, {.running_as_root = true});
  REQUIRE(bad.mistakes.size() == 1);
  CHECK(bad.mistakes[0] == wrong + ":5: unknown directive colour");
  write("pool.d/b.conf", pool("one"));
  const ConfigReading twice = read_configuration(main, {.running_as_root = true});
  REQUIRE(twice.mistakes.size() == 1);
  CHECK(twice.mistakes[0] ==
        wrong + ":1: [one] already exists at " + world.folder() + "/pool.d/a.conf:1");
  write("beside.conf", "[global]\ninclude = pool.d/a.conf\n");
  CHECK_MESSAGE(read_configuration(world.folder() + "/beside.conf", {.running_as_root = true})
                    .mistakes.empty(),
                "relative to the file, not to the working folder");
  CHECK(mistake("[global]\ninclude =\n" + world.pool()) ==
        "q.conf:2: include: the file name is missing");
}

TEST_CASE("a file that includes itself, directly or indirectly, is reported once") {
  const World world;
  const std::string one = world.folder() + "/one.conf";
  const std::string two = world.folder() + "/two.conf";
  std::ofstream(one) << "[global]\ninclude = two.conf\n" << world.pool();
  std::ofstream(two) << "[global]\ninclude = ./t?o.conf\ninclude = one.conf\n";
  const ConfigReading reading = read_configuration(one);
  REQUIRE(reading.mistakes.size() == 2);
  CHECK(reading.mistakes[0].starts_with(two + ":2: include: "));
  CHECK(reading.mistakes[0].ends_with("two.conf includes itself"));
  CHECK(reading.mistakes[1] == two + ":3: include: " + one + " includes itself");
}

TEST_CASE("a pool's name cannot contain $") {
  CHECK(mistake("[a$pool]\nlisten = 9000\nrepository = /\n")
            .starts_with("q.conf:1: the name of a pool must not contain $"));
}

TEST_CASE("a dump is an equivalent configuration, and contains the defaults") {
  const World world;
  const std::string text =
      "[global]\nerror_log = syslog:/run/my.sock\nlog_level = alert\nprocess.priority = 3\n"
      "rlimit_core = unlimited\nprocess_control_timeout = 2m\n[http]\nlisten = [::1]:80\n"
      "trusted_proxies = 10.0.0.0/8 , ::1\npool = www\nmax_body = 3072K\n" +
      world.pool(
          "access.log = /var/log/$pool.log\naccess.format = \"%R; \\\"%r\\\" \\\\ \"\n"
          "access.suppress_path[] = /a\naccess.suppress_path[] = /b\nlisten.mode = 607\n"
          "listen.allowed_clients = ::1, 10.0.0.1\npm = dynamic\npm.min_spare_servers = 1\n"
          "pm.max_spare_servers = 3\nenv[A] = $PATH\nenv[TERM] = \" \"\nenv[TZ] =\n");
  const ConfigReading reading = read(text);
  REQUIRE(reading.mistakes.empty());
  const std::string dumped = dump(reading.config);
  const auto has_line = [&](const std::string& line) {
    return dumped.find("\n" + line + "\n") != std::string::npos;
  };
  for (const char* line :
       {"error_log = syslog:/run/my.sock", "log_limit = 1024", ";pid =", "rlimit_core = unlimited",
        "process_control_timeout = 120s", "trusted_proxies = 10.0.0.0/8, ::1", "max_body = 3M",
        "access.log = /var/log/www.log", "access.format = \"%R; \\\"%r\\\" \\\\ \"",
        "access.suppress_path[] = /b", "listen.mode = 0607",
        "listen.allowed_clients = ::1, 10.0.0.1", "pm.start_servers = 2",
        ";chroot =", "env[A] = $PATH", "env[TERM] = \" \"", "env[TZ] = \"\""}) {
    CAPTURE(line);
    CHECK(has_line(line));
  }
  const ConfigReading again = read(dumped);
  CHECK(again.mistakes == std::vector<std::string>());
  CHECK(dump(again.config) == dumped);
}

TEST_CASE("a dump contains no secrets, and can still be read") {
  const World world;
  ::setenv("QUARRY_TEST_VALUE", "s3cret", 1);
  const std::string courier =
      "[courier]\n[destination a]\ntype = webhook\n"
      "url = https://ann:${QUARRY_TEST_VALUE}@example.org:8443/s3cret?x=s3cret\n"
      "header[] = Authorization: Bearer ${QUARRY_TEST_VALUE}\nheader[] = X-Other:s3cret\n"
      "[destination b]\ntype = webhook\nurl = http://example.org?s3cret\n"
      "[destination c]\ntype = webhook\nurl = http://s3cret@example.org/\n"
      "[destination d]\ntype = mail\nfrom = a@b\nto = c@d\nurl = smtp://example.org:25\n"
      "[destination e]\ntype = file\npath = /e\nurl = s3cret\n"
      "[destination f]\ntype = program\n"
      "command = /bin/true -s https://u:s3cret@h/x?t=s3cret --proxy=http://s3cret@p\n"
      "[peer g]\nurl = https://h/x?token=s3cret\n";
  const ConfigReading reading = read(world.pool(
      "env[https_proxy] = http://u:${QUARRY_TEST_VALUE}@proxy:3128\n"
      "env[DSN] = postgres://u:s3cret@h/x\nenv[PIN] = s3cret\nenv[MY_PASSWORD] = $MY_PASSWORD\n"
      "changes.gate = /bin/true https://u:s3cret@h/x?t=s3cret\n"
      "env[LANG] = C\n" +
      courier));
  ::unsetenv("QUARRY_TEST_VALUE");
  REQUIRE(reading.mistakes == std::vector<std::string>());
  const std::string dumped = dump(reading.config);
  CHECK(dumped.find("s3cret") == std::string::npos);
  CHECK(dump(reading.config, /*has_secrets=*/true).contains("\nenv[PIN] = s3cret\n"));
  for (const char* line :
       {"url = https://***@example.org:8443/***", "header[] = Authorization: ***",
        "header[] = X-Other: ***", "url = http://example.org?***", "url = http://***@example.org/",
        "url = smtp://example.org:25", "url = ***", "env[https_proxy] = http://u:***@proxy:3128",
        "env[DSN] = ***", "env[PIN] = ***", "env[MY_PASSWORD] = $MY_PASSWORD", "env[LANG] = C",
        "command = /bin/true -s https://***@h/x?*** --proxy=http://***@p", "url = https://h/x?***",
        "changes.gate = /bin/true https://***@h/x?***"}) {
    CAPTURE(line);
    CHECK(dumped.find(std::string("\n") + line + "\n") != std::string::npos);
  }
  const ConfigReading again = read(dumped);
  CHECK(again.mistakes == std::vector<std::string>());
  CHECK(dump(again.config) == dumped);
}

TEST_CASE("a destination without events, or with all of them, is the same") {
  const World world;
  const std::string begin = world.pool("[courier]\n[destination a]\ntype = syslog\n");
  CHECK(mistake(begin + "events = all\n") == "");
  CHECK(dump(read(begin + "events = all\n").config) == dump(read(begin).config));
  CHECK(mistake(begin + "events = all, security\n") == "");
  CHECK(mistake(begin + "events = push, security\n") == "");
  CHECK(mistake(begin + "events = sec*\n").find("\"sec*\" does not match any event type") !=
        std::string::npos);
}

TEST_CASE("the methods of sending mail that a pool allows") {
  const World world;
  const auto dumped = [&](const std::string& line) { return dump(read(world.pool(line)).config); };
  CHECK(dumped("").find("\nbackoffice.mail_methods = relay, pipe, dir, db\n") != std::string::npos);
  CHECK(dumped("backoffice.mail_methods = off\n").find("\nbackoffice.mail_methods = off\n") !=
        std::string::npos);
  for (const char* value : {"relay, stdout", ","}) {
    CHECK(mistake(world.pool(std::string("backoffice.mail_methods = ") + value + "\n"))
              .find("backoffice.mail_methods: ") != std::string::npos);
  }
}

TEST_CASE("the control socket is beside the pid file, unless it is configured or turned off") {
  const World world;
  const auto place = [&](const std::string& words) {
    const auto reading = read("[global]\n" + words + world.pool());
    CHECK(reading.mistakes.empty());
    const auto& control = reading.config.global.control;
    return control ? control->path() : "";
  };
  CHECK(place("") == "");
  CHECK(place("pid = /run/q.pid\n") == "/run/q.control");
  CHECK(place("pid = /run/a.b/q\n") == "/run/a.b/q.control");
  CHECK(place("pid = /run/q.pid\ncontrol.socket = /x/y\n") == "/x/y");
  CHECK(place("control.socket = /x/y\n") == "/x/y");
  CHECK(place("pid = /run/q.pid\ncontrol.socket = off\n") == "");
}

TEST_CASE("an invalid control socket is reported at its line") {
  const World world;
  const std::string deep = "/" + std::string(120, 'd');
  CHECK(mistake("[global]\ncontrol.socket = q.control\n" + world.pool())
            .starts_with("q.conf:2: control.socket:"));
  CHECK(mistake("[global]\n\ncontrol.socket = " + deep + "\n" + world.pool())
            .starts_with("q.conf:3: control.socket: the path of the socket"));
  const std::string beside = mistake("[global]\n\npid = " + deep + "\n" + world.pool());
  CHECK(beside.starts_with("q.conf:3: pid: "));
  CHECK(beside.ends_with("set control.socket"));
  CHECK(mistake("[global]\ncontrol.socket = /tmp/x.sock\n" + world.pool())
            .find("[global] and [www] both listen on /tmp/x.sock") != std::string::npos);
}

TEST_CASE("a peer is read with its repository and its defaults") {
  const World world;
  const auto reading = read(
      world.pool("[peer there]\nurl = https://ann@example.org:8443/one\npassword_file = /etc/pw\n"
                 "direction = push\nprivate = yes\nuv = on\ninterval = 5m\nretry.delay = 2s\n"
                 "retry.max_delay = 1h\ntimeout = 10s\nmax_time = 2h\nca_file = /etc/ca.pem\n"
                 "[peer file]\nurl = file:///srv/x.fossil\nrepository = /srv/y.fossil\n"
                 "[peer far]\nremote = far\n"));
  REQUIRE(reading.mistakes == std::vector<std::string>());
  const auto peers = peers_in(reading.config).peers;
  REQUIRE(peers.size() == 3);
  const auto& there = peers[0];
  CHECK(there.options.name == "there");
  CHECK(there.options.url == "https://ann@example.org:8443/one");
  CHECK(there.options.password_file == "/etc/pw");
  CHECK(there.options.ca_file == "/etc/ca.pem");
  CHECK(there.options.pushes());
  CHECK_FALSE(there.options.pulls());
  CHECK(there.options.with_private);
  CHECK(there.options.with_unversioned);
  CHECK(there.options.interval == 5min);
  CHECK(there.options.retry_delay == 2s);
  CHECK(there.options.retry_max_delay == 1h);
  CHECK(there.options.timeout == 10s);
  CHECK(there.options.max_time == 2h);
  CHECK(there.pool == "www");
  CHECK(there.file == world.file());
  CHECK(there.is_served);
  CHECK(there.name == "");
  CHECK(peers[1].file == "/srv/y.fossil");
  CHECK_FALSE(peers[1].is_served);
  CHECK(peers[2].options.remote == "far");
  CHECK(peers[2].options.interval == 60s);
  CHECK(peers[2].options.retry_max_delay == 60s);
  CHECK_FALSE(peers[2].options.with_private);
  CHECK(peers[0].number != peers[1].number);
  const std::string dumped = dump(reading.config);
  CHECK(dumped.find("direction = push") != std::string::npos);
  CHECK(read(dumped).mistakes == std::vector<std::string>());
}

TEST_CASE("a peer's repository is in its pool's folder, or any other file") {
  const World world;
  const std::string pools = "[a]\nlisten = /tmp/a.sock\nrepositories = " + world.folder() +
                            "\n[b]\nlisten = /tmp/b.sock\nrepository = " + world.file() + "\n";
  const auto peer = [&](const std::string& words) {
    const auto reading = read(pools + "[peer p]\nurl = http://example.org/\n" + words);
    REQUIRE(reading.mistakes == std::vector<std::string>());
    return peers_in(reading.config).peers.at(0);
  };
  const auto named = peer("pool = a\nrepository = team/one\n");
  CHECK(named.file == world.folder() + "/team/one.fossil");
  CHECK(named.name == "team/one");
  CHECK(named.is_served);
  const auto path = peer("pool = a\nrepository = " + world.folder() + "/x/../two.fossil\n");
  CHECK(path.name == "two");
  CHECK(path.is_served);
  const auto elsewhere = peer("pool = a\nrepository = /elsewhere/two.fossil\n");
  CHECK_FALSE(elsewhere.is_served);
  const auto only = peer("pool = b\nrepository = " + world.file() + "\n");
  CHECK(only.is_served);
  CHECK(only.name == "");
}

TEST_CASE("an error in a peer is reported at its line, without a value that may be a password") {
  const World world;
  const auto of_peer = [&](const std::string& words, const std::string& name = "p") {
    return mistake(world.pool("[peer " + name + "]\n" + words));
  };
  const std::string good = "url = http://example.org/\n";
  CHECK(of_peer(good) == "");
  for (const auto& [words, line, why] : std::vector<std::tuple<std::string, int, std::string>>{
           {"url = http://ann:geheim@example.org/\n", 5,
            "url: the URL must not contain a password"},
           {"url = ftp://example.org/\n", 5, "url: must begin with http://"},
           {"url = http://ann@/x\n", 5, "url: the URL does not contain a host"},
           {"url = https://\n", 5, "url: the URL does not contain a host"},
           {"url = file:x.fossil\n", 5, "url: the path of a file must begin with a slash"},
           {"direction = sideways\n" + good, 5,
            "direction: \"sideways\" is not one of push, pull, both"},
           {"interval = 0\n" + good, 5, "interval: must be at least 1ms"},
           {"timeout = soon\n" + good, 5, "timeout: "},
           {"password_file = pw\n" + good, 5, "password_file: "},
           {"uv = perhaps\n" + good, 5, "uv: "},
           {"nonsense = 1\n" + good, 5, "unknown directive nonsense"},
           {"", 4, "[peer p] needs either url or remote"},
           {good + "remote = x\n", 4, "[peer p] needs either url or remote"},
           {"url = http://ann@example.org/\n", 4, "[peer p] needs a password_file for user ann"},
           {good + "password_file = /pw\n", 4, "[peer p] password_file requires"},
           {"url = ssh://ann@example.org/x\npassword_file = /pw\n", 4,
            "[peer p] password_file requires"},
           {"remote = x\npassword_file = /pw\n", 4, "[peer p] password_file requires url"},
           {good + "retry.delay = 2h\n", 4, "[peer p] retry.max_delay is less than"},
           {good + "pool = none\n", 4, "[peer p] pool: [none] does not exist"},
           {good + "repository = one\n", 4, "[peer p] repository: [www] serves a single file"}}) {
    CAPTURE(words);
    const std::string found = of_peer(words);
    CHECK(found.starts_with("q.conf:" + std::to_string(line) + ": " + why));
    CHECK(found.find("geheim") == std::string::npos);
  }
  CHECK(of_peer(good, "a/b").starts_with("q.conf:4: [peer a/b] invalid peer name \"a/b\""));
  const std::string folders =
      "[a]\nlisten = /tmp/a.sock\nrepositories = " + world.folder() + "\n[peer p]\n" + good;
  CHECK(
      mistake(folders) ==
      "q.conf:4: [peer p] needs repository = NAME, the name of a repository in the pool's folder");
  CHECK(mistake(folders + "repository = ../x\n")
            .starts_with("q.conf:4: [peer p] repository: \"../x\" is not a repository name"));
  CHECK(mistake("[b]\nlisten = /tmp/b.sock\nrepository = " + world.file() + "\n" + folders)
            .ends_with("[peer p] needs pool = NAME, because there are several pools"));
}

TEST_CASE(
    "change sets are off by default, and their other defaults give nobody access by accident") {
  const World world;
  const auto options = worker_options_in(read(world.pool()).config.pools.at(0)).changes;
  CHECK_FALSE(options.is_enabled);
  CHECK(options.base.empty());
  CHECK(options.gate.is_sandboxed);
  CHECK_FALSE(options.gate.accepts_stale);
  CHECK(options.rights.of(quarry::changes::Right::kSubmit).text() == "i");
  CHECK(options.rights.of(quarry::changes::Right::kApprove).text() == "a");
}

TEST_CASE("directives of change sets are dumped in the form in which they are read") {
  const World world;
  const std::string words =
      "changes = yes\nchanges.base = /var/queues\nchanges.max_size = 10M\nchanges.children = 4\n"
      "changes.batch = 8\nchanges.needs_approval = EM BF\nchanges.gate = /usr/bin/true -x\n"
      "changes.gate_user = nobody\nchanges.gate_sandbox = no\nchanges.gate_stale = accept\n"
      "changes.submit = i @ann\nchanges.emergency = none\nchanges.freeze = @eve\n";
  const auto reading = read(world.pool(words));
  CHECK(reading.mistakes.empty());
  const auto options = worker_options_in(reading.config.pools.at(0)).changes;
  CHECK(options.is_enabled);
  CHECK(options.base == "/var/queues");
  CHECK(options.max_size == 10 << 20);
  CHECK(options.children == 4);
  CHECK(options.batch == 8);
  CHECK(quarry::changes::text_of(options.rules.needs_approval) == "EM BF");
  CHECK(options.gate.program == "/usr/bin/true -x");
  CHECK(options.gate.user == "nobody");
  CHECK_FALSE(options.gate.is_sandboxed);
  CHECK(options.gate.accepts_stale);
  CHECK(options.rights.of(quarry::changes::Right::kSubmit).text() == "i @ann");
  const std::string dumped = dump(reading.config);
  CHECK(dump(read(dumped).config) == dumped);
  CHECK(dumped.find("changes.emergency = none") != std::string::npos);
}

TEST_CASE("a wrong directive of change sets is reported with the expected value") {
  const World world;
  const auto wrong = [&](const char* line) { return mistake(world.pool(line)); };
  CHECK(wrong("changes.gate_stale = yes").find("must be \"again\"") != std::string::npos);
  CHECK(wrong("changes.approve = admins").find("neither a capability") != std::string::npos);
  CHECK(wrong("changes.needs_approval = XX").find("not a move type") != std::string::npos);
  CHECK(wrong("changes.gate = bin/check").find("changes.gate") != std::string::npos);
  CHECK(wrong("changes.children = 0").find("changes.children") != std::string::npos);
}
