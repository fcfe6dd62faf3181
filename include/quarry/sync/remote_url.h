// Where a repository is that one syncs with, as people write it:
//
//   http://USER:PASSWORD@HOST:PORT/PATH   https://…
//   ssh://USER@HOST:PORT/PATH             PATH is relative to the home folder, //PATH is not;
//                                         ?fossil=PROGRAM is what to start there
//   file:///PATH, or a path               ?fossil=PROGRAM (of the URL) as well
//
// In USER, PASSWORD and PATH, %XX stands for a byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::sync {

struct RemoteUrl {
  enum class Scheme : std::uint8_t { kHttp, kHttps, kSsh, kFile };

  Scheme scheme = Scheme::kFile;
  std::string user;
  std::string password;
  std::string host;
  std::string port;     // empty: the scheme's own
  std::string path;     // http, https: as it is written; ssh, file: of the file
  std::string program;  // of ?fossil=; empty: none is named

  /// Error: kInvalid.
  static base::Result<RemoteUrl> parse(std::string_view text);
  bool is_http() const { return scheme == Scheme::kHttp || scheme == Scheme::kHttps; }
  /// The whole URL without its password: for people, and what a repository remembers.
  std::string without_password() const;
  /// The URL without user and password (http and https).
  std::string without_user() const;
};

}  // namespace quarry::sync
