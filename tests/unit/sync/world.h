// A repository for each test, and helpers that build and send requests and inspect the replies and
// the repository file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/time.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/server_session.h"
#include "temporary_folder.h"

namespace quarry::sync {

inline const std::string kProjectCode = "1111111111111111111111111111111111111111";
inline const std::string kServerCode = "5555555555555555555555555555555555555555";
/// The pragma cards with a client's version (2.21) and with the server's version.
inline const std::string kVersion = "pragma client-version 22100 20230226 192424\n";
inline const std::string kServerVersion = "pragma server-version 22900 20260312 000000\n";
/// The card at the end of each reply to a clone.
inline const std::string kCodes = "push " + kServerCode + " " + kProjectCode + "\n";
inline const std::string kPullCard = "pull " + std::string(40, '9') + " " + kProjectCode + "\n";
inline const std::string kPushCard = "push " + std::string(40, '9') + " " + kProjectCode + "\n";

/// A clock that stands still or advances by `step` at each reading.
struct StillClock : base::Clock {
  base::UnixMillis now() const override {
    const std::int64_t shown = 1700000000000 + passed;
    passed += step;
    return {shown};
  }
  std::int64_t step = 0;
  mutable std::int64_t passed = 0;
};

/// Returns a hash of CONTENT.
std::string sha1(std::string_view content);
std::string sha3(std::string_view content);
/// Returns a card with CONTENT as its payload.
std::string file(std::string_view content);
std::string file_delta(std::string_view content, std::string_view source);
std::string cfile(std::string_view content);
/// If MORE is not empty, it is appended to the card after a space.
std::string igot(std::string_view name, const char* more = "");
std::string gimme(std::string_view name);
/// Returns the hash of PASSWORD that the repository stores.
std::string secret_of(std::string_view user, std::string_view password);
/// Returns BODY with USER's login card before it.
std::string login(std::string_view user, std::string_view secret, std::string_view body);
/// Returns the content of the file PATH.
std::string read_bytes(const std::filesystem::path& path);
/// Returns the number of lines of TEXT that begin with WORD.
std::size_t count_cards(std::string_view text, std::string_view word);

class World {
 public:
  /// Creates a repository. Its users are named after their capabilities ("g", "o", "i", "ix", "a",
  /// "s", "u", "v") and have the password "pw". `nobody` does not have capabilities.
  World();

  const std::filesystem::path& path() const { return path_; }
  /// Executes SQL statements directly on the file.
  void sql(const std::string& statements);
  /// Returns the first value in the result of QUERY, or "(none)".
  std::string value(const std::string& query);
  /// Returns all rows of the result of QUERY, with columns separated by '|'.
  std::vector<std::string> values(const std::string& query);
  void add_user(const std::string& name, const std::string& letters, const std::string& secret);
  /// Returns the content of all tables as text.
  std::string dump();

  Reply ask(Request request);
  /// Returns the cards in the reply to BODY, without the timestamp line.
  std::string say(std::string_view body);
  /// Like say(), but sends BODY as USER.
  std::string say_as(std::string_view user, std::string_view body);
  /// Returns the text of the error card in the reply to BODY. Requires that the reply contains
  /// nothing else and that the file is unchanged.
  std::string error_of(std::string_view body);
  std::string error_as(std::string_view user, std::string_view body);
  /// Like error_of(), but sends BODY as USER. The log can contain more details than the reply.
  std::string refusal_as(std::string_view user, std::string_view body);

  /// Returns the name of the initial check-in, which is the only artifact at first.
  const std::string& initial() const { return initial_; }
  SessionOptions options;
  HostGroup* hosts = nullptr;
  StillClock& clock() { return clock_; }
  const SessionFigures& figures() const { return figures_; }
  repository::Repository& repository() { return *repository_; }

 private:
  std::string refusal_of(std::string_view body);
  TemporaryFolder folder_;
  std::filesystem::path path_;
  StillClock clock_;
  std::unique_ptr<repository::Repository> repository_;
  std::string initial_;
  SessionFigures figures_;
};

}  // namespace quarry::sync
