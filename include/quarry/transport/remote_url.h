// The URL of a repository to sync with, as users write it:
//
//   http://USER:PASSWORD@HOST:PORT/PATH   https://…
//   ssh://USER@HOST:PORT/PATH             relative to the home directory; //PATH is absolute;
//                                         ?fossil=PROGRAM is the program to start there
//   file:PATH, file://PATH                ?fossil=PROGRAM as well
//   PATH                                  a local path, taken literally, unless it begins with
//                                         USER:PASSWORD@, which is an error
//
// As in fossil, %XX stands for a byte and `+` for a space in every part of a URL. Literal spaces
// and non-ASCII letters are allowed.
//
// A URL is either given by the operator (on the command line or in quarry.conf) or stored in a
// repository. Users with the setup capability can change a stored URL over the web, so a stored URL
// must not name a program.
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
  std::string port;     // empty: the default of the scheme
  std::string path;     // http, https: begins with a slash; ssh, file: path of the file
  std::string program;  // from ?fossil=; can be empty

  /// Parses a URL that the operator gave. Errors: kInvalid.
  static Result<RemoteUrl> parse(std::string_view text);
  /// Parses a URL from a repository. Errors: those of parse(), and kDenied if the URL names a
  /// program.
  static Result<RemoteUrl> parse_stored(std::string_view text);
  bool is_http() const { return scheme == Scheme::kHttp || scheme == Scheme::kHttps; }
  /// Returns the URL without its password, in the form in which fossil stores it. Omits the program
  /// of a file: URL, because fossil does not support programs in such URLs.
  std::string without_password() const;
  /// Returns the URL without user and password, as it is sent to the server (http and https).
  std::string without_user() const;
};

}  // namespace quarry::transport
