#include "quarry/sync/remote_url.h"

#include <curl/curl.h>

#include <memory>

namespace quarry::sync {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

struct Freed {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(char* text) const { curl_free(text); }
};
using Parsed = std::unique_ptr<CURLU, Freed>;

/// One part of URL; empty where it has none.
std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, Freed> owner(text);
  return text;
}

std::string escaped(std::string_view text) {
  const std::unique_ptr<char, Freed> made(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())));
  return made ? made.get() : std::string();
}

/// The value of `fossil=` in QUERY.
std::string program_in(std::string_view query) {
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    if (one.starts_with("fossil=")) {
      int size = 0;
      const std::string_view value = one.substr(7);
      const std::unique_ptr<char, Freed> made(
          curl_easy_unescape(nullptr, value.data(), static_cast<int>(value.size()), &size));
      return made ? std::string(made.get(), static_cast<std::size_t>(size)) : std::string();
    }
    query.remove_prefix(std::min(query.size(), one.size() + 1));
  }
  return {};
}

Result<RemoteUrl::Scheme> scheme_of(const std::string& word) {
  if (word == "http") return RemoteUrl::Scheme::kHttp;
  if (word == "https") return RemoteUrl::Scheme::kHttps;
  if (word == "ssh") return RemoteUrl::Scheme::kSsh;
  if (word == "file") return RemoteUrl::Scheme::kFile;
  return fail(ErrorCode::kInvalid,
              "a URL begins with http:, https:, ssh: or file:, not with " + word + ":");
}

}  // namespace

Result<RemoteUrl> RemoteUrl::parse(std::string_view text) {
  RemoteUrl made;
  const bool is_url = text.contains("://") || text.starts_with("file:");
  if (!is_url) {
    if (text.empty()) return fail(ErrorCode::kInvalid, "an empty URL");
    made.path = text;
    return made;
  }
  const Parsed url(curl_url());
  const unsigned flags = CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS;
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), flags);
  if (code != CURLUE_OK) {
    // Without the URL itself, which may have a password.
    return fail(ErrorCode::kInvalid, std::string("not a URL: ") + curl_url_strerror(code));
  }
  QUARRY_TRY_ASSIGN(made.scheme, scheme_of(part(url.get(), CURLUPART_SCHEME)));
  made.user = part(url.get(), CURLUPART_USER, CURLU_URLDECODE);
  made.password = part(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
  made.host = part(url.get(), CURLUPART_HOST);
  made.port = part(url.get(), CURLUPART_PORT);
  made.path = part(url.get(), CURLUPART_PATH, made.is_http() ? 0 : CURLU_URLDECODE);
  if (made.is_http()) return made;
  made.program = program_in(part(url.get(), CURLUPART_QUERY));
  if (made.scheme == Scheme::kSsh) {
    made.path.erase(0, 1);
    if (made.host.starts_with('[')) made.host = made.host.substr(1, made.host.size() - 2);
    // What begins with a dash would be an option.
    if (made.host.starts_with('-') || made.user.starts_with('-')) {
      return fail(ErrorCode::kInvalid, "no host has a name that begins with a dash");
    }
    if (made.path.empty()) return fail(ErrorCode::kInvalid, "the URL names no repository");
  }
  return made;
}

std::string RemoteUrl::without_user() const {
  std::string text = scheme == Scheme::kHttps ? "https://" : "http://";
  text += host;
  if (!port.empty()) text += ":" + port;
  return text + path;
}

std::string RemoteUrl::without_password() const {
  const std::string query = program.empty() ? "" : "?fossil=" + program;
  if (scheme == Scheme::kFile) return "file://" + path + query;
  std::string text = scheme == Scheme::kSsh     ? "ssh://"
                     : scheme == Scheme::kHttps ? "https://"
                                                : "http://";
  if (!user.empty()) text += escaped(user) + "@";
  text += host.contains(':') && !host.starts_with('[') ? "[" + host + "]" : host;
  if (!port.empty()) text += ":" + port;
  if (scheme != Scheme::kSsh) return text + path;
  return text + "/" + path + query;
}

}  // namespace quarry::sync
