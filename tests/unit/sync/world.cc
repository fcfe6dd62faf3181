#include "world.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "quarry/artifact/digest.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/repository/whole_file.h"

namespace quarry::sync {
namespace {

namespace fs = std::filesystem;

using Rows = std::vector<std::vector<std::string>>;

Rows query_file(const fs::path& path, const std::string& statements) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  sqlite3_busy_timeout(database, 5000);
  Rows rows;
  const auto add = [](void* out, int count, char** values, char**) {
    std::vector<std::string> row;
    for (int i = 0; i < count; ++i) row.emplace_back(values[i] != nullptr ? values[i] : "NULL");
    static_cast<Rows*>(out)->push_back(std::move(row));
    return 0;
  };
  char* message = nullptr;
  const int code = sqlite3_exec(database, statements.c_str(), add, &rows, &message);
  const std::string text = message != nullptr ? message : "";
  sqlite3_free(message);
  sqlite3_close(database);
  REQUIRE_MESSAGE(code == SQLITE_OK, text);
  return rows;
}

/// Returns the bytes of a new repository with known codes. The repository is made only once.
const std::string& template_bytes() {
  static const std::string bytes = [] {
    const TemporaryFolder folder;
    const fs::path path = folder / "template.fossil";
    const StillClock clock;
    const auto made = repository::init(
        path, {.project_name = "test", .user = "s", .password = "pw", .clock = &clock});
    REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().message));
    query_file(path,
               "PRAGMA journal_mode=DELETE;"
               "UPDATE config SET value='" +
                   kProjectCode +
                   "' WHERE name='project-code';"
                   "UPDATE config SET value='" +
                   kServerCode +
                   "' WHERE name='server-code';"
                   "UPDATE user SET cap='' WHERE login='nobody';"
                   "UPDATE user SET cap='hmncgo' WHERE login='anonymous';"
                   "UPDATE user SET cap='ei' WHERE login='developer';"
                   "UPDATE user SET cap='kptw' WHERE login='reader';"
                   "UPDATE user SET pw='" +
                   secret_of("s", "pw") + "' WHERE login='s';");
    for (const std::string letters : {"g", "o", "i", "ix", "a", "u", "v"}) {
      query_file(path, fmt::format("INSERT INTO user(login,pw,cap) VALUES('{0}','{1}','{0}')",
                                   letters, secret_of(letters, "pw")));
    }
    return read_bytes(path);
  }();
  return bytes;
}

}  // namespace

std::string read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string igot(std::string_view name, const char* more) {
  return fmt::format("igot {}{}\n", name, more);
}

std::string gimme(std::string_view name) {
  return fmt::format("gimme {}\n", name);
}

std::string sha1(std::string_view content) {
  return artifact::sha1_hex(content);
}
std::string sha3(std::string_view content) {
  return artifact::sha3_256_hex(content);
}

std::string file(std::string_view content) {
  return fmt::format("file {} {}\n{}", sha3(content), content.size(), content);
}

std::string file_delta(std::string_view content, std::string_view source) {
  const std::string delta = artifact::delta_create(source, content);
  return fmt::format("file {} {} {}\n{}", sha3(content), sha3(source), delta.size(), delta);
}

std::string cfile(std::string_view content) {
  const std::string blob = artifact::blob_compress(content);
  return fmt::format("cfile {} {} {}\n{}\n", sha3(content), content.size(), blob.size(), blob);
}

std::string secret_of(std::string_view user, std::string_view password) {
  return sha1(fmt::format("{}/{}/{}", kProjectCode, user, password));
}

std::string login(std::string_view user, std::string_view secret, std::string_view body) {
  const std::string nonce = sha1(body);
  return fmt::format("login {} {} {}\n{}", artifact::fossilize(user), nonce,
                     sha1(nonce + std::string(secret)), body);
}

std::size_t count_cards(std::string_view text, std::string_view word) {
  const std::string start = std::string(word) + " ";
  std::size_t count = text.starts_with(start) ? 1 : 0;
  for (std::size_t at = text.find("\n" + start); at != std::string_view::npos;
       at = text.find("\n" + start, at + 1)) {
    ++count;
  }
  return count;
}

World::World() : path_(folder_ / "repo.fossil") {
  std::ofstream(path_, std::ios::binary) << template_bytes();
  auto opened = repository::Repository::open(
      path_, {.busy_timeout = std::chrono::milliseconds(200), .clock = &clock_});
  REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().message));
  repository_ = std::move(*opened);
  initial_ = value("SELECT uuid FROM blob WHERE rid=1");
}

void World::sql(const std::string& statements) {
  query_file(path_, statements);
}

std::string World::value(const std::string& query) {
  const Rows rows = query_file(path_, query);
  return rows.empty() ? "(none)" : rows.front().front();
}

std::vector<std::string> World::values(const std::string& query) {
  std::vector<std::string> out;
  for (const auto& row : query_file(path_, query)) {
    std::string joined;
    for (const std::string& column : row) joined += column + "|";
    out.push_back(std::move(joined));
  }
  return out;
}

void World::add_user(const std::string& name, const std::string& letters,
                     const std::string& secret) {
  sql(fmt::format("INSERT INTO user(login,pw,cap) VALUES('{}','{}','{}')", name, secret, letters));
}

std::string World::dump() {
  std::string out;
  for (const auto& table :
       query_file(path_, "SELECT name FROM sqlite_master WHERE type='table' ORDER BY name")) {
    std::string columns;
    for (const auto& row : query_file(path_, "PRAGMA table_info(" + table[0] + ")")) {
      columns += (columns.empty() ? "quote(" : "||','||quote(") + row[1] + ")";
    }
    out += table[0] + ":\n";
    for (const auto& row :
         query_file(path_, "SELECT " + columns + " FROM " + table[0] + " ORDER BY 1")) {
      out += row[0] + "\n";
    }
  }
  return out;
}

Reply World::ask(Request request) {
  if (request.content_type.empty()) request.content_type = "application/x-fossil-debug";
  if (request.remote_address.empty()) request.remote_address = "192.0.2.7";
  request.hosts = hosts;
  Reply reply = answer(*repository_, options, request);
  figures_ = reply.figures;
  return reply;
}

std::string World::say(std::string_view body) {
  const Reply reply = ask({.body = body});
  REQUIRE(reply.status == 200);
  const std::string& text = reply.body;
  const std::size_t last = text.rfind("# timestamp 2023-11-14T22:13:20 errors ");
  REQUIRE(last != std::string::npos);
  REQUIRE(text.find('\n', last) == text.size() - 1);
  CHECK(text.substr(last + 39) == (reply.figures.error.empty() ? "0\n" : "1\n"));
  return text.substr(0, last);
}

std::string World::say_as(std::string_view user, std::string_view body) {
  return say(login(user, secret_of(user, "pw"), body));
}

std::string World::error_of(std::string_view body) {
  const std::string message = refusal_of(body);
  CHECK(figures_.error == message);
  return message;
}

std::string World::refusal_of(std::string_view body) {
  const std::string before = dump();
  const std::string text = say(body);
  CHECK(dump() == before);
  CHECK(std::ranges::count(text, '\n') == 1);
  REQUIRE(text.starts_with("error "));
  const std::string message =
      artifact::defossilize(std::string_view(text).substr(6, text.size() - 7));
  CHECK(figures_.artifacts_in == 0);
  CHECK(figures_.artifacts_out == 0);
  return message;
}

std::string World::refusal_as(std::string_view user, std::string_view body) {
  return refusal_of(login(user, secret_of(user, "pw"), body));
}

std::string World::error_as(std::string_view user, std::string_view body) {
  return error_of(login(user, secret_of(user, "pw"), body));
}

}  // namespace quarry::sync
