#include "http_transport.h"

#include <fmt/core.h>

#include <cstdlib>

#include "curl_bounds.h"
#include "quarry/base/escape.h"
#include "quarry/base/url.h"

namespace quarry::transport {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr int kMaxRedirects = 20;

/// An explanation of a status code.
std::string_view meaning(long status) {
  switch (status) {
    case 401:
    case 403:
      return "no access";
    case 404:
      return "no such repository there";
    case 413:
      return "the request is larger than the server takes";
    case 502:
    case 503:
    case 504:
      return "the server is overloaded or being restarted";
    default:
      return "no sync server, or it is at fault";
  }
}

/// A `+` stands for a space only in URLs written for fossil.
std::string without_plus(std::string_view url) {
  std::string text;
  for (const char c : url) c == '+' ? text += "%2B" : text += c;
  return text;
}

}  // namespace

HttpTransport::HttpTransport(const RemoteUrl& url, const TransportOptions& options)
    : options_(options), url_(url.without_user()), handle_(curl_easy_init()) {}

std::size_t HttpTransport::receive(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto* const transport = static_cast<HttpTransport*>(self);
  const std::size_t length = size * count;
  if (transport->receiving_->body.size() + length > transport->options_.max_reply) {
    transport->too_large_ = true;
    return 0;
  }
  transport->receiving_->body.append(bytes, length);
  return length;
}

/// Nonzero aborts the transfer.
int HttpTransport::check_interrupted(void* self, curl_off_t /*unused*/, curl_off_t /*unused*/,
                                     curl_off_t /*unused*/, curl_off_t /*unused*/) {
  const auto& asked = static_cast<HttpTransport*>(self)->options_.is_interrupted;
  return asked && asked() ? 1 : 0;
}

void HttpTransport::prepare(const sync::ClientRequest& request, curl_slist* headers,
                            TransportReply& reply) {
  CURL* const curl = handle_.get();
  receiving_ = &reply;
  too_large_ = false;
  message_[0] = '\0';
  curl_easy_setopt(curl, CURLOPT_URL, url_.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  set_bounds(curl, options_.connect_timeout, options_.idle_timeout);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &HttpTransport::check_interrupted);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &HttpTransport::receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message_);
  // If one of the two is set, ignore the system's default for the other.
  if (!options_.ca_file.empty() || !options_.ca_folder.empty()) {
    const auto chosen = [](const std::string& path) {
      return path.empty() ? nullptr : path.c_str();
    };
    curl_easy_setopt(curl, CURLOPT_CAINFO, chosen(options_.ca_file));
    curl_easy_setopt(curl, CURLOPT_CAPATH, chosen(options_.ca_folder));
  }
}

Result<TransportReply> HttpTransport::exchange(const sync::ClientRequest& request) {
  if (!handle_) return fail(ErrorCode::kIo, "libcurl does not start");
  TransportReply reply;
  // Without the empty Expect header libcurl waits for a `100 Continue`, which Fossil servers do not
  // send.
  std::unique_ptr<curl_slist, Cleanup> headers(
      curl_slist_append(nullptr, ("Content-Type: " + request.content_type).c_str()));
  curl_slist_append(headers.get(), "Expect:");
  prepare(request, headers.get(), reply);
  const CURLcode code = curl_easy_perform(handle_.get());
  receiving_ = nullptr;
  if (code != CURLE_OK) return failed(code);
  const char* text = nullptr;
  if (curl_easy_getinfo(handle_.get(), CURLINFO_PRIMARY_IP, &text) == CURLE_OK && text != nullptr) {
    address_ = text;
  }
  long status = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status == 301 || status == 302 || status == 307 || status == 308) return follow(status);
  if (status != 200) {
    return fail(status == 404 ? ErrorCode::kNotFound : ErrorCode::kIo,
                fmt::format("{}: HTTP status {}: {}", url_, status, meaning(status)));
  }
  redirects_ = 0;
  text = nullptr;
  curl_easy_getinfo(handle_.get(), CURLINFO_CONTENT_TYPE, &text);
  reply.content_type = text != nullptr ? text : "";
  return reply;
}

Result<TransportReply> HttpTransport::follow(long status) {
  struct curl_header* header = nullptr;
  if (curl_easy_header(handle_.get(), "Location", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) {
    return fail(ErrorCode::kInvalid, fmt::format("{}: a redirect to nowhere", url_));
  }
  const std::string shown = base::printable(base::without_credentials(header->value), 500);
  auto target = RemoteUrl::parse(without_plus(header->value));
  if (!target || !target->is_http()) {
    return fail(ErrorCode::kDenied, fmt::format("{}: not redirected to {}", url_, shown));
  }
  if (url_.starts_with("https:") && target->scheme == RemoteUrl::Scheme::kHttp) {
    return fail(ErrorCode::kDenied,
                fmt::format("{}: not redirected to {}, which is not encrypted", url_, shown));
  }
  if (++redirects_ > kMaxRedirects) {
    return fail(ErrorCode::kIo, fmt::format("{}: more than {} redirects", url_, kMaxRedirects));
  }
  target->user.clear();
  url_ = target->without_user();
  // Store the new URL only if every redirect was permanent.
  moved_for_good_ = moved_for_good_ && (status == 301 || status == 308);
  moved_to_ = moved_for_good_ ? std::optional(target->without_password()) : std::nullopt;
  TransportReply reply;
  reply.was_redirected = true;
  return reply;
}

Result<TransportReply> HttpTransport::failed(CURLcode code) const {
  if (too_large_) {
    return fail(ErrorCode::kLimit,
                fmt::format("{}: a reply of more than {} bytes", url_, options_.max_reply));
  }
  const std::string why = message_[0] != '\0' ? message_ : curl_easy_strerror(code);
  const bool is_certificate =
      code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
  return fail(is_certificate ? ErrorCode::kDenied : ErrorCode::kIo,
              fmt::format("{}: {}{}", url_, why,
                          is_certificate ? " (--ca-file or the setting ssl-ca-location names an "
                                           "authority to believe)"
                                         : ""));
}

}  // namespace quarry::transport
