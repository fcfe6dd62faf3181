#include "quarry/transport/remote_url.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"
#include "quarry/http/form.h"
#include "quarry/http/syntax.h"

namespace quarry::transport {
namespace {

// Characters that fossil does not escape in stored URLs. In user names, fossil does escape the last
// two of these characters.
constexpr std::string_view kPlain = "$-._~:/";
// Characters that are not escaped in the path of a request. Servers decode %XX in the path, but not
// `+`.
constexpr std::string_view kPlainInRequest = "-._~:/!$&'()*+,;=@";

constexpr std::string_view kProgram = "?fossil=";

struct Freed {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(char* text) const { curl_free(text); }
};
using Parsed = std::unique_ptr<CURLU, Freed>;

/// Returns one part of URL, still encoded, or "" if the part is missing.
std::string part(CURLU* url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, 0) != CURLUE_OK) return {};
  const std::unique_ptr<char, Freed> owner(text);
  return text;
}

// Returns the error for an invalid URL. The message does not contain the URL, which might contain a
// password.
auto no_url(std::string_view why) {
  return fail(ErrorCode::kInvalid, "not a URL: {}", why);
}

/// Decodes TEXT as Fossil does for every part of a URL.
Result<std::string> decoded(std::string_view text) {
  auto made = http::form_decode(text);
  if (!made) return no_url("it contains %00, or a % without two hex digits (write %25 for a %)");
  return *std::move(made);
}

std::string as_fossil(std::string_view text) {
  return http::percent_encode(text, kPlain, "+");
}

Result<RemoteUrl::Scheme> scheme_of(const std::string& word) {
  if (word == "http") return RemoteUrl::Scheme::kHttp;
  if (word == "https") return RemoteUrl::Scheme::kHttps;
  if (word == "ssh") return RemoteUrl::Scheme::kSsh;
  return fail(ErrorCode::kInvalid,
              "unknown URL scheme " + word + ": (use http:, https:, ssh: or file:)");
}

/// Parses the text after `file:` and optional slashes. Only ?fossil= ends the file name.
Result<RemoteUrl> parse_file(std::string_view text) {
  RemoteUrl made;
  if (text.starts_with("//")) text.remove_prefix(2);
  const std::size_t end = text.rfind(kProgram);
  if (end != std::string_view::npos) {
    QUARRY_TRY_ASSIGN(made.program, decoded(text.substr(end + kProgram.size())));
  }
  QUARRY_TRY_ASSIGN(made.path, decoded(text.substr(0, end)));
  if (made.path.empty()) return no_url("it has no file name");
  return made;
}

/// Parses AUTHORITY, the part of a URL before the path.
Result<void> parse_authority(RemoteUrl& made, std::string authority) {
  std::ranges::replace(authority, ' ', '+');
  const Parsed url(curl_url());
  const CURLUcode code =
      curl_url_set(url.get(), CURLUPART_URL, authority.c_str(), CURLU_NON_SUPPORT_SCHEME);
  if (code != CURLUE_OK) return no_url(curl_url_strerror(code));
  QUARRY_TRY_ASSIGN(made.scheme, scheme_of(part(url.get(), CURLUPART_SCHEME)));
  QUARRY_TRY_ASSIGN(made.user, decoded(part(url.get(), CURLUPART_USER)));
  QUARRY_TRY_ASSIGN(made.password, decoded(part(url.get(), CURLUPART_PASSWORD)));
  made.host = part(url.get(), CURLUPART_HOST);
  made.port = part(url.get(), CURLUPART_PORT);
  return {};
}

/// Returns whether NAME is safe as an argument of ssh, and in the shell that runs a ProxyCommand.
bool is_safe_for_ssh(std::string_view name) {
  return !name.starts_with('-') && std::ranges::none_of(name, [](char c) {
    return static_cast<unsigned char>(c) < ' ' || std::string_view("'`\"$;&<>|(){}").contains(c);
  });
}

Result<void> check_ssh(RemoteUrl& made) {
  made.path.erase(0, 1);
  if (made.host.starts_with('[')) made.host = made.host.substr(1, made.host.size() - 2);
  if (!is_safe_for_ssh(made.host) || !is_safe_for_ssh(made.user)) {
    return fail(ErrorCode::kInvalid,
                "a host or user name must not begin with a dash or contain shell characters");
  }
  if (made.path.empty()) return fail(ErrorCode::kInvalid, "the URL has no repository path");
  return {};
}

}  // namespace

Result<RemoteUrl> RemoteUrl::parse(std::string_view text) {
  if (text.starts_with("file:")) return parse_file(text.substr(5));
  const std::size_t slashes = text.find("://");
  RemoteUrl made;
  if (slashes == std::string_view::npos) {
    if (text.empty()) return fail(ErrorCode::kInvalid, "the URL is empty");
    // Refuse the text as a path, because a message about a missing file would contain the password.
    if (!base::credentials_in(text).empty()) {
      return no_url("it contains a password, but does not begin with http://, https:// or ssh://");
    }
    made.path = text;
    return made;
  }
  const std::size_t path = std::min(text.find('/', slashes + 3), text.size());
  const std::size_t query = std::min(text.find('?', path), text.size());
  QUARRY_TRY(parse_authority(made, std::string(text.substr(0, path))));
  QUARRY_TRY_ASSIGN(made.path, decoded(text.substr(path, query - path)));
  if (made.path.empty()) made.path = "/";
  if (made.is_http()) return made;
  if (text.substr(query).starts_with(kProgram)) {
    QUARRY_TRY_ASSIGN(made.program, decoded(text.substr(query + kProgram.size())));
  }
  QUARRY_TRY(check_ssh(made));
  return made;
}

Result<RemoteUrl> RemoteUrl::parse_stored(std::string_view text) {
  QUARRY_TRY_ASSIGN(RemoteUrl made, parse(text));
  if (made.program.empty()) return made;
  return fail(ErrorCode::kDenied,
              "the stored URL {} contains ?fossil= (a program to run), which is "
              "allowed only on the command line and in quarry.conf",
              base::printable(made.without_password()));
}

std::string RemoteUrl::without_user() const {
  std::string text = scheme == Scheme::kHttps ? "https://" : "http://";
  text += host;
  if (!port.empty()) text += ":" + port;
  return text + http::percent_encode(path, kPlainInRequest);
}

std::string RemoteUrl::without_password() const {
  // Omit ?fossil=, because fossil would treat it as part of the file name.
  if (scheme == Scheme::kFile) return "file://" + as_fossil(path);
  std::string text = scheme == Scheme::kSsh     ? "ssh://"
                     : scheme == Scheme::kHttps ? "https://"
                                                : "http://";
  if (!user.empty()) {
    text += http::percent_encode(user, kPlain.substr(0, kPlain.size() - 2), "+") + "@";
  }
  text += host.contains(':') && !host.starts_with('[') ? "[" + host + "]" : host;
  if (!port.empty()) text += ":" + port;
  if (scheme != Scheme::kSsh) return text + as_fossil(path);
  const std::string query = program.empty() ? "" : std::string(kProgram) + as_fossil(program);
  return text + "/" + as_fossil(path) + query;
}

}  // namespace quarry::transport
