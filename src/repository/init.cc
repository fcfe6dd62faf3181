// Making a new repository: the tables, the settings and users that every Fossil repository begins
// with, and the initial empty check-in on trunk.

#include <fmt/core.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <array>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/digest.h"
#include "quarry/artifact/structural.h"
#include "repository_state.h"
#include "schema.h"

namespace quarry::repository {

using base::ErrorCode;

namespace {

// MD5 of nothing: the R card of a check-in without files.
constexpr const char* kEmptyChecksum = "d41d8cd98f00b204e9800998ecf8427e";

/// A project or server code: 40 random hex digits.
std::string random_code() {
  std::array<unsigned char, 20> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw SqliteError(SQLITE_ERROR, "no random numbers to be had");
  }
  std::string code;
  for (const unsigned char byte : bytes) code += fmt::format("{:02x}", byte);
  return code;
}

void add_user(Database& database, std::string_view login, std::string_view secret,
              std::string_view capabilities, std::string_view info, std::int64_t seconds) {
  Query insert = database.query("INSERT INTO user(login,pw,cap,info,mtime) VALUES(?1,?2,?3,?4,?5)");
  insert.bind(1, login).bind(2, secret).bind(3, capabilities).bind(4, info).bind(5, seconds).run();
}

void add_users(Database& database, const std::string& project_code, const InitOptions& options,
               std::int64_t now) {
  const std::string secret =
      artifact::sha1_hex(fmt::format("{}/{}/{}", project_code, options.user, options.password));
  add_user(database, options.user, secret, "s", "", now);
  add_user(database, "anonymous", random_code().substr(0, 16), "hmnc", "Anon", now);
  add_user(database, "nobody", "", "gjorz", "Nobody", now);
  add_user(database, "developer", "", "ei", "Dev", now);
  add_user(database, "reader", "", "kptw", "Reader", now);
}

void add_settings(Database& database, const std::string& project_code, const InitOptions& options,
                  std::int64_t now) {
  const auto set = [&](std::string_view name, std::string_view value) {
    database.query("INSERT INTO config(name,value,mtime) VALUES(?1,?2,?3)")
        .bind(1, name)
        .bind(2, value)
        .bind(3, now)
        .run();
  };
  set("hash-policy", "2");
  set("content-schema", "2");
  set("aux-schema", "2015-01-24");
  set("admin-log", "1");
  set("access-log", "1");
  set("server-code", random_code());
  set("project-code", project_code);
  set("autosync", "1");
  set("localauth", "0");
  set("timeline-plaintext", "1");
  if (!options.project_name.empty()) set("project-name", options.project_name);
}

}  // namespace

base::Result<void> init(const std::filesystem::path& path, const InitOptions& options) {
  if (options.user.empty()) return base::fail(ErrorCode::kInvalid, "a repository needs a user");
  for (const char* reserved : {"anonymous", "nobody", "developer", "reader"}) {
    if (options.user != reserved) continue;
    return base::fail(ErrorCode::kInvalid,
                      fmt::format("every repository has a user \"{}\" of its own: the "
                                  "administrator needs another name",
                                  reserved));
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    return base::fail(ErrorCode::kInvalid,
                      fmt::format("{}: exists already; nothing was changed", path.string()));
  }
  const auto made = guarded(path, [&]() -> base::Result<void> {
    const std::int64_t now = options.clock->now().value / 1000;
    Database database(path, Database::Mode::kCreate, OpenOptions().busy_timeout);
    database.execute(fmt::format("PRAGMA application_id={}; BEGIN", kApplicationId));
    for (const char* schema : {kTruthSchema, kDerivedSchema, kTicketSchema}) {
      database.execute(schema);
    }
    add_predefined_tags(database);
    const std::string project_code = random_code();
    add_settings(database, project_code, options, now);
    add_users(database, project_code, options, now);
    database.execute("COMMIT");
    return {};
  });
  if (!made) {
    ::unlink(path.c_str());
    return made;
  }

  QUARRY_TRY_ASSIGN(const auto repository, Repository::open(path, {.clock = options.clock}));
  QUARRY_TRY_ASSIGN(Receipt receipt, repository->receive());
  receipt.set_sender({.uid = 1, .login_nonce = {}, .address = ""});
  const std::string check_in =
      artifact::format_check_in({.comment = "initial empty check-in",
                                 .date = options.clock->now(),
                                 .user = options.user,
                                 .files = {},
                                 .parents = {},
                                 .repository_checksum = kEmptyChecksum,
                                 .tags = {{'*', "branch", "trunk"}, {'*', "sym-trunk", ""}}});
  const auto name = artifact::HashName::of(artifact::HashAlgorithm::kSha3_256, check_in);
  QUARRY_TRY(
      receipt.store({.name = name, .payload = check_in, .delta_source = {}, .declared_size = {}}));
  return receipt.commit();
}

}  // namespace quarry::repository
