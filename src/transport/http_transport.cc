#include "http_transport.h"

#include <fmt/core.h>

#include "quarry/base/escape.h"
#include "quarry/base/url.h"

namespace quarry::transport {

namespace {

constexpr int kMaxRedirects = 20;

/// Returns an explanation of the error REPLY for users. For statuses that are not listed here, this
/// is the server's text.
std::string meaning(const HttpReply& reply) {
  switch (reply.status) {
    case 401:
    case 403:
      return "access denied";
    case 404:
      return "no such repository";
    case 413:
      return "the request is larger than the server accepts";
    case 502:
    case 503:
    case 504:
      return "the server is overloaded or restarting";
    default:
      if (const std::string text = plain_text_of(reply); !text.empty()) {
        return "the server says: " + text;
      }
      return "not a sync server, or a server error";
  }
}

/// Returns URL with each `+` encoded, because fossil reads a literal `+` in a URL as a space.
std::string without_plus(std::string_view url) {
  std::string text;
  for (const char c : url) c == '+' ? text += "%2B" : text += c;
  return text;
}

}  // namespace

Result<TransportReply> HttpTransport::exchange(const sync::ClientRequest& request) {
  QUARRY_TRY_ASSIGN(HttpReply reply,
                    client_.exchange({.method = "POST",
                                      .url = url_,
                                      .headers = {"Content-Type: " + request.content_type},
                                      .body = request.body}));
  address_ = reply.address;
  const long status = reply.status;
  if (status == 301 || status == 302 || status == 307 || status == 308) return follow(reply);
  if (status != 200) {
    return fail(status == 404 ? ErrorCode::kNotFound : ErrorCode::kIo,
                fmt::format("{}: HTTP status {}: {}", url_, status, meaning(reply)));
  }
  redirects_ = 0;
  return TransportReply{.content_type = std::move(reply.content_type),
                        .body = std::move(reply.body)};
}

Result<TransportReply> HttpTransport::follow(const HttpReply& redirect) {
  if (redirect.location.empty()) {
    return fail(ErrorCode::kInvalid, "{}: redirect without a Location header", url_);
  }
  const std::string shown = base::printable(base::without_credentials(redirect.location), 500);
  auto target = RemoteUrl::parse(without_plus(redirect.location));
  if (!target || !target->is_http()) {
    return fail(ErrorCode::kDenied, "{}: refusing the redirect to {}", url_, shown);
  }
  if (url_.starts_with("https:") && target->scheme == RemoteUrl::Scheme::kHttp) {
    return fail(ErrorCode::kDenied, "{}: refusing the redirect to {}, which is not encrypted", url_,
                shown);
  }
  if (++redirects_ > kMaxRedirects) {
    return fail(ErrorCode::kIo, "{}: more than {} redirects", url_, kMaxRedirects);
  }
  target->user.clear();
  url_ = target->without_user();
  // The new URL is permanent only if every redirect was permanent.
  moved_for_good_ = moved_for_good_ && (redirect.status == 301 || redirect.status == 308);
  moved_to_ = moved_for_good_ ? std::optional(target->without_password()) : std::nullopt;
  return TransportReply{.content_type = {}, .body = {}, .was_redirected = true};
}

}  // namespace quarry::transport
