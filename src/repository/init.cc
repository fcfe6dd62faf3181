// Creates a repository: the tables, Fossil's initial settings and users, and an empty initial
// check-in on trunk.

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <initializer_list>
#include <utility>

#include "quarry/artifact/digest.h"
#include "quarry/artifact/structural.h"
#include "quarry/base/fd.h"
#include "quarry/base/hex.h"
#include "quarry/repository/users.h"
#include "quarry/repository/whole_file.h"
#include "repository_state.h"
#include "store/hash_policy.h"
#include "store/schema.h"

namespace quarry::repository {

namespace {

// MD5 of an empty text, for the R card of a check-in without files.
constexpr const char* kEmptyChecksum = "d41d8cd98f00b204e9800998ecf8427e";

/// Returns a project or server code: 40 random hex digits.
std::string random_code() {
  std::array<unsigned char, 20> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw SqliteError(SQLITE_ERROR, "cannot generate random numbers");
  }
  return base::to_hex(bytes);
}

void add_user(Database& database, std::string_view login, std::string_view secret,
              std::string_view capabilities, std::string_view info, std::int64_t seconds) {
  database.execute("INSERT INTO user(login,pw,cap,info,mtime) VALUES(?1,?2,?3,?4,?5)", login,
                   secret, capabilities, info, seconds);
}

/// Adds the first user and the standard users. SECRET is the stored form of the first user's
/// password.
void add_users(Database& database, std::string_view user, std::string_view secret,
               std::int64_t now) {
  add_user(database, user, secret, "s", "", now);
  add_user(database, "anonymous", random_code().substr(0, 16), "hmnc", "Anon", now);
  add_user(database, "nobody", "", "gjorz", "Nobody", now);
  add_user(database, "developer", "", "ei", "Dev", now);
  add_user(database, "reader", "", "kptw", "Reader", now);
}

using InitialSetting = std::pair<const char*, std::string_view>;

void add_settings(Database& database, std::initializer_list<InitialSetting> more,
                  std::int64_t now) {
  const auto set = [&](std::string_view name, std::string_view value) {
    database.execute("INSERT INTO config(name,value,mtime) VALUES(?1,?2,?3)", name, value, now);
  };
  set("content-schema", "2");
  set("aux-schema", kAuxSchema);
  set("admin-log", "1");
  set("access-log", "1");
  set("server-code", random_code());
  set("autosync", "1");
  set("localauth", "0");
  set("timeline-plaintext", "1");
  for (const auto& [name, value] : more) {
    if (!value.empty()) set(name, value);
  }
}

/// Adds the standard ticket report, with Fossil's colours. Its mtime is the lowest possible, so
/// that a server's report with the same title is always newer.
void add_ticket_report(Database& database) {
  database.execute(R"sql(
    INSERT INTO reportfmt(title, mtime, cols, sqlcode) VALUES('All Tickets', julianday(0, 'unixepoch'),
'#ffffff Key:
#f2dcdc Active
#e8e8e8 Review
#cfe8bd Fixed
#bde5d6 Tested
#cacae5 Deferred
#c8c8c8 Closed',
'SELECT
  CASE status
    WHEN ''Open'' THEN ''#f2dcdc''
    WHEN ''Verified'' THEN ''#f2dcdc''
    WHEN ''Review'' THEN ''#e8e8e8''
    WHEN ''Fixed'' THEN ''#cfe8bd''
    WHEN ''Tested'' THEN ''#bde5d6''
    WHEN ''Deferred'' THEN ''#cacae5''
    ELSE ''#c8c8c8''
  END AS bgcolor,
  substr(tkt_uuid, 1, 10) AS "#",
  datetime(tkt_mtime) AS mtime,
  type, status, subsystem, title
FROM ticket'))sql");
}

/// Checks that USER is a valid login, and that a repository can be created at PATH.
Result<void> check_new(const std::filesystem::path& path, std::string_view user) {
  if (user.empty()) return fail(ErrorCode::kInvalid, "the name of the first user is missing");
  QUARRY_TRY(check_login(user));
  for (const char* reserved : {"anonymous", "nobody", "developer", "reader"}) {
    if (user != reserved) continue;
    return fail(ErrorCode::kInvalid,
                "the user \"{}\" exists in every repository: choose another name for the "
                "administrator",
                reserved);
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    return fail(ErrorCode::kInvalid, "{}: already exists", path.string());
  }
  return {};
}

/// Creates the file with all tables. FILL adds the initial rows.
Result<void> make_file(const std::filesystem::path& path,
                       const std::function<void(Database&)>& fill) {
  // Create the file here, because SQLite would not report why it cannot create the file.
  constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  if (!base::Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode))) {
    return fail_errno(fmt::format("cannot create {}", path.string()));
  }
  const auto made = guarded(path, [&] {
    Database database(path, Database::Mode::kReadWrite, OpenOptions().busy_timeout);
    database.execute(fmt::format("PRAGMA application_id={}; BEGIN", kApplicationId));
    for (const char* schema : {kTruthSchema, kDerivedSchema, kTicketSchema}) {
      database.execute(schema);
    }
    add_predefined_tags(database);
    add_ticket_report(database);
    fill(database);
    database.execute("COMMIT");
  });
  if (!made) ::unlink(path.c_str());
  return made;
}

}  // namespace

Result<void> init(const std::filesystem::path& path, const InitOptions& options) {
  QUARRY_TRY(check_new(path, options.user));
  QUARRY_TRY(make_file(path, [&](Database& database) {
    const std::int64_t now = options.clock->now().value / 1000;
    const std::string project_code = random_code();
    add_settings(database,
                 {{kHashPolicySetting, "2"},
                  {"project-code", project_code},
                  {"project-name", options.project_name}},
                 now);
    add_users(
        database, options.user,
        artifact::sha1_hex(fmt::format("{}/{}/{}", project_code, options.user, options.password)),
        now);
  }));

  QUARRY_TRY_ASSIGN(const auto repository, Repository::open(path, {.clock = options.clock}));
  QUARRY_TRY_ASSIGN(Receipt receipt, repository->receive());
  receipt.set_sender({.uid = 1});
  const std::string check_in =
      artifact::format_check_in({.comment = "initial empty check-in",
                                 .date = options.clock->now(),
                                 .user = options.user,
                                 .repository_checksum = kEmptyChecksum,
                                 .tags = {{'*', "branch", "trunk"}, {'*', "sym-trunk", ""}}});
  const auto name = artifact::HashName::of(artifact::HashAlgorithm::kSha3_256, check_in);
  QUARRY_TRY(receipt.store({.name = name, .payload = check_in}));
  return receipt.commit();
}

Result<void> init_for_clone(const std::filesystem::path& path, std::string_view user,
                            const base::Clock& clock) {
  QUARRY_TRY(check_new(path, user));
  return make_file(path, [&](Database& database) {
    const std::int64_t now = clock.now().value / 1000;
    add_settings(database, {}, now);
    add_users(database, user, "", now);
  });
}

}  // namespace quarry::repository
