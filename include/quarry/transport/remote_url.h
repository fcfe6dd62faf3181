// Where a repository is that one syncs with, as people write it:
//
//   http://USER:PASSWORD@HOST:PORT/PATH   https://…
//   ssh://USER@HOST:PORT/PATH             PATH is relative to the home folder, //PATH is not;
//                                         ?fossil=PROGRAM is what to start there
//   file:PATH, file://PATH                ?fossil=PROGRAM as well
//   PATH                                  as it is
//
// As fossil has it, in every part of a URL %XX stands for a byte and `+` for a space; spaces and
// letters beyond ASCII may stand for themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::transport {

struct RemoteUrl {
  enum class Scheme : std::uint8_t { kHttp, kHttps, kSsh, kFile };

  Scheme scheme = Scheme::kFile;
  std::string user;
  std::string password;
  std::string host;
  std::string port;     // empty: the scheme's own
  std::string path;     // http, https: with its first slash; ssh, file: of the file
  std::string program;  // of ?fossil=; empty: none is named

  /// Error: kInvalid.
  static base::Result<RemoteUrl> parse(std::string_view text);
  bool is_http() const { return scheme == Scheme::kHttp || scheme == Scheme::kHttps; }
  /// The URL without its password, written as fossil writes what a repository remembers. The
  /// program of a file is left out: fossil knows none there.
  std::string without_password() const;
  /// The URL without user and password (http and https), as servers read it.
  std::string without_user() const;
};

}  // namespace quarry::transport
