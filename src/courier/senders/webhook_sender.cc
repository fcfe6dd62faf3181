// Sends an event by POST over HTTP, as JSON or in the format of a chat service.
//
//   2xx                                done
//   4xx that rejects the request       permanent: 400, 405, 406, 410, 411, 413, 414, 415, 422, 431
//   any other status, such as 3xx      retry, because an administrator might fix the server or the
//   and 401 to 404                     configuration
//
// Retry-After is respected with any status. Redirects to other hosts are not followed, because the
// headers contain secrets.
#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "chat_message.h"
#include "quarry/base/ascii.h"
#include "quarry/base/escape.h"
#include "quarry/base/url.h"
#include "quarry/courier/body_template.h"
#include "senders.h"
#include "transfer/http_post.h"

namespace quarry::courier {
namespace {

constexpr std::size_t kShownReply = 120;
// Number of bytes of a response that are kept with the delivery.
constexpr std::size_t kKeptReply = 1024;
constexpr int kMaxRedirects = 3;
constexpr std::chrono::milliseconds kShortestTimeout{1};

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

Url parsed_url(const char* text) {
  Url url(curl_url(), &curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, text, 0) != CURLUE_OK) url.reset();
  return url;
}

/// Returns a part of URL, or empty text if it is missing. The port may be the scheme's default.
std::string part_of(const Url& url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, &curl_free);
  return text;
}

/// Returns URL, including its user and password, with the path and query of TARGET. Returns empty
/// text if TARGET has another origin (scheme, host and port).
std::string redirected(const std::string& url, const char* target) {
  const Url to = parsed_url(target), from = parsed_url(url.c_str());
  if (!to || !from) return {};
  for (const CURLUPart part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    const std::string one = part_of(from, part), other = part_of(to, part);
    if (!std::ranges::equal(one, other, {}, base::ascii_lower, base::ascii_lower)) return {};
  }
  curl_url_set(from.get(), CURLUPART_PATH, part_of(to, CURLUPART_PATH).c_str(), 0);
  const std::string query = part_of(to, CURLUPART_QUERY);
  curl_url_set(from.get(), CURLUPART_QUERY, query.empty() ? nullptr : query.c_str(), 0);
  return part_of(from, CURLUPART_URL);
}

class WebhookSender final : public Sender {
 public:
  /// Creates a sender that signs requests with SECRET. If SECRET is empty, requests are not signed.
  WebhookSender(const DestinationOptions& options, std::string secret,
                std::optional<BodyTemplate> body_template, Interrupted is_interrupted)
      : options_(options),
        secret_(std::move(secret)),
        template_(std::move(body_template)),
        post_(std::move(is_interrupted), options.ca_file, kKeptReply) {}

  /// From now on, connects only to addresses that RULES allow.
  void restrict_to(const AddressRules& rules) {
    const Url url = parsed_url(options_.url.c_str());
    const std::string host = url ? part_of(url, CURLUPART_HOST) : std::string();
    post_.restrict_to([this, rules, host](const base::SocketAddress& address) {
      if (rules.allows(host, address)) return true;
      refused_ = address.ip();
      return false;
    });
  }

  DeliveryResult deliver(const OutgoingEvent& outgoing) override {
    const auto body = body_of(outgoing);
    if (!body) return give_up(body.error().message);
    return result_of(post(headers_of(outgoing, *body), *body));
  }

 private:
  Result<std::string> body_of(const OutgoingEvent& outgoing) const {
    const auto& [message, event] = outgoing;
    const Format format = options_.format;
    if (template_) {
      return template_->fill(message.content, subject_of(event), [format](std::string_view text) {
        return escape_for_chat(format, text);
      });
    }
    return format == Format::kJson ? message.content : chat_message(format, event);
  }

  /// Sends the request, and follows allowed redirects. A redirected request stays a POST request.
  HttpReply post(const std::vector<std::string>& headers, std::string_view body) {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + options_.delivery_timeout();
    elsewhere_.clear();
    refused_.clear();
    std::string url = options_.url;
    for (int redirects = 0;; ++redirects) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
      // Use at least one millisecond, because 0 would mean no limit.
      HttpReply reply = post_.send(url, headers, body, std::max(left, kShortestTimeout));
      const bool is_followed = !reply.redirect.empty() && options_.allow_redirects;
      if (!is_followed || redirects == kMaxRedirects) return reply;
      url = redirected(options_.url, reply.redirect.c_str());
      if (url.empty()) {
        elsewhere_ = origin_of(reply.redirect);
        return reply;
      }
    }
  }

  std::vector<std::string> headers_of(const OutgoingEvent& outgoing, std::string_view body) const {
    std::vector<std::string> headers{
        "Content-Type: application/json",
        fmt::format("X-Quarry-Event: {}", event::type_of(outgoing.event)),
        fmt::format("X-Quarry-Delivery: {}", outgoing.message.id)};
    if (!secret_.empty()) {
      // Receivers for GitHub and Gitea can verify their own headers.
      const std::string signature = signature_of(secret_, body);
      headers.push_back("X-Quarry-Signature: sha256=" + signature);
      headers.push_back("X-Hub-Signature-256: sha256=" + signature);
      headers.push_back("X-Gitea-Signature: " + signature);
    }
    headers.insert(headers.end(), options_.headers.begin(), options_.headers.end());
    return headers;
  }

  DeliveryResult result_of(const HttpReply& reply) const {
    if (reply.is_interrupted) return {.outcome = spool::Outcome::kReturned};
    if (reply.status == 0 && !refused_.empty()) {
      return give_up(fmt::format(
          "{}: {} is not a public address; to allow it, list it in repository_webhooks.allow",
          origin_of(options_.url), refused_));
    }
    if (reply.status == 0) {
      return retry_later(fmt::format("{}: {}", origin_of(options_.url), reply.error));
    }
    DeliveryResult result = reply.is_done() ? DeliveryResult() : failure_of(reply);
    result.status = reply.status;
    result.response = reply.body;
    return result;
  }

  DeliveryResult failure_of(const HttpReply& reply) const {
    std::string why = fmt::format("{}: HTTP status {}", origin_of(options_.url), reply.status);
    if (!elsewhere_.empty()) {
      why += fmt::format(
          ": did not follow the redirect to {}, which has another origin; if the redirect is "
          "correct, set url to that address",
          elsewhere_);
    }
    if (!reply.body.empty()) why += ": " + base::printable(reply.body, kShownReply);
    if (is_final_status(reply.status)) return give_up(std::move(why));
    DeliveryResult result = retry_later(std::move(why));
    result.delay = reply.retry_after;
    return result;
  }

  DestinationOptions options_;
  std::string secret_;
  std::optional<BodyTemplate> template_;
  HttpPost post_;
  std::string elsewhere_;  // origin of a redirect that was not followed
  std::string refused_;    // address to which the rules do not allow a connection
};

}  // namespace

bool is_final_status(long status) {
  constexpr auto kFinal = std::to_array<long>({400, 405, 406, 410, 411, 413, 414, 415, 422, 431});
  return std::ranges::find(kFinal, status) != kFinal.end();
}

Result<std::unique_ptr<Sender>> make_webhook_sender(const DestinationOptions& options,
                                                    Interrupted is_interrupted) {
  std::string secret;
  if (!options.secret_file.empty()) {
    QUARRY_TRY_ASSIGN(secret, read_secret(options.secret_file));
  }
  std::optional<BodyTemplate> body_template;
  if (!options.template_file.empty()) {
    QUARRY_TRY_ASSIGN(body_template, BodyTemplate::read(options.template_file));
  }
  return std::make_unique<WebhookSender>(options, std::move(secret), std::move(body_template),
                                         std::move(is_interrupted));
}

std::unique_ptr<Sender> make_repository_webhook_sender(const DestinationOptions& options,
                                                       const std::string& secret,
                                                       const AddressRules& rules,
                                                       Interrupted is_interrupted) {
  auto sender =
      std::make_unique<WebhookSender>(options, secret, std::nullopt, std::move(is_interrupted));
  sender->restrict_to(rules);
  return sender;
}

}  // namespace quarry::courier
