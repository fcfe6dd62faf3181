// Sends an event by POST over HTTP with libcurl, as JSON or in the format of a chat service. The
// connection is kept alive.
//
//   2xx                                done
//   4xx that rejects the request       permanent: 400, 405, 406, 410, 411, 413, 414, 415, 422, 431
//   any other status, such as 3xx      retry, because an administrator might fix the server or the
//   and 401 to 404                     configuration
//
// Retry-After is respected with any status. libcurl does not follow redirects here, because it
// would send the headers to any host, and the headers contain secrets.
#include <curl/curl.h>
#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

#include "chat_message.h"
#include "quarry/base/ascii.h"
#include "quarry/base/escape.h"
#include "quarry/base/url.h"
#include "quarry/courier/body_template.h"
#include "senders.h"

namespace quarry::courier {
namespace {

constexpr std::size_t kMaxReply = std::size_t{1} << 20;
constexpr std::size_t kShownReply = 120;
// Number of bytes of a response that are kept with the delivery.
constexpr std::size_t kKeptReply = 1024;
constexpr int kMaxRedirects = 3;
constexpr std::chrono::milliseconds kMaxRetryAfter{86'400'000};

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
                std::optional<BodyTemplate> body_template, Interrupted is_interrupted,
                std::optional<AddressRules> rules = std::nullopt)
      : options_(options),
        secret_(std::move(secret)),
        template_(std::move(body_template)),
        rules_(std::move(rules)),
        is_interrupted_(std::move(is_interrupted)),
        handle_(curl_easy_init()) {
    prepare();
  }
  ~WebhookSender() override { curl_easy_cleanup(handle_); }

  DeliveryResult deliver(const OutgoingEvent& outgoing) override {
    const auto body = body_of(outgoing);
    if (!body) return give_up(body.error().message);
    const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
        headers_of(outgoing, *body), &curl_slist_free_all);
    curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, body->data());
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    const CURLcode code = post();
    curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, nullptr);
    return answer_of(code);
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
  CURLcode post() {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + options_.delivery_timeout();
    elsewhere_.clear();
    refused_.clear();
    std::string url = options_.url;
    for (int redirects = 0;; ++redirects) {
      message_[0] = '\0';
      received_ = 0;
      beginning_.clear();
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
      // Use at least one millisecond, because 0 would mean no limit.
      const auto timeout = static_cast<long>(std::max<std::int64_t>(left.count(), 1));
      curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS, timeout);
      curl_easy_setopt(handle_, CURLOPT_TIMEOUT_MS, timeout);
      curl_easy_setopt(handle_, CURLOPT_URL, url.c_str());
      const CURLcode code = curl_easy_perform(handle_);
      const char* target = nullptr;
      curl_easy_getinfo(handle_, CURLINFO_REDIRECT_URL, &target);
      const bool is_followed = code == CURLE_OK && target != nullptr && options_.allow_redirects;
      if (!is_followed || redirects == kMaxRedirects) return code;
      url = redirected(options_.url, target);
      if (url.empty()) {
        elsewhere_ = origin_of(target);
        return code;
      }
    }
  }

  void prepare() {
    if (handle_ == nullptr) return;
    curl_easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle_, CURLOPT_PROXY, "");
    curl_easy_setopt(handle_, CURLOPT_POST, 1L);
    curl_easy_setopt(handle_, CURLOPT_USERAGENT, "Quarry/" QUARRY_VERSION);
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle_, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle_, CURLOPT_XFERINFOFUNCTION, &check_interrupted);
    curl_easy_setopt(handle_, CURLOPT_XFERINFODATA, this);
    curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &receive);
    curl_easy_setopt(handle_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, message_.data());
    if (rules_) {
      curl_easy_setopt(handle_, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
      curl_easy_setopt(handle_, CURLOPT_OPENSOCKETDATA, this);
    }
    if (!options_.ca_file.empty()) {
      curl_easy_setopt(handle_, CURLOPT_CAINFO, options_.ca_file.c_str());
      curl_easy_setopt(handle_, CURLOPT_CAPATH, nullptr);
    }
  }

  /// Receives a part of the body. A body that exceeds the limit aborts the transfer, but the status
  /// is already known.
  static std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto& sender = *static_cast<WebhookSender*>(self);
    const std::size_t length = size * count;
    const std::size_t room = kKeptReply - std::min(kKeptReply, sender.beginning_.size());
    sender.beginning_.append(bytes, std::min(length, room));
    sender.received_ += length;
    return sender.received_ > kMaxReply ? 0 : length;
  }

  /// Opens a socket for a connection, if the rules allow its address.
  static curl_socket_t open_socket(void* self, curlsocktype /*unused*/, curl_sockaddr* to) {
    auto& sender = *static_cast<WebhookSender*>(self);
    const auto address = base::SocketAddress::of(&to->addr, to->addrlen);
    const Url url = parsed_url(sender.options_.url.c_str());
    const std::string host = url ? part_of(url, CURLUPART_HOST) : std::string();
    if (!address || !sender.rules_->allows(host, *address)) {
      sender.refused_ = address ? address->ip() : "the address";
      return CURL_SOCKET_BAD;
    }
    return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
  }

  static int check_interrupted(void* self, curl_off_t /*unused*/, curl_off_t /*unused*/,
                               curl_off_t /*unused*/, curl_off_t /*unused*/) {
    return static_cast<WebhookSender*>(self)->is_interrupted_() ? 1 : 0;
  }

  curl_slist* headers_of(const OutgoingEvent& outgoing, std::string_view body) const {
    curl_slist* headers = nullptr;
    const auto add = [&headers](const std::string& header) {
      curl_slist* longer = curl_slist_append(headers, header.c_str());
      if (longer != nullptr) headers = longer;
    };
    add("Content-Type: application/json");
    // Remove the Expect header, because libcurl would otherwise wait for `100 Continue` before it
    // sends a long body.
    add("Expect:");
    add(fmt::format("X-Quarry-Event: {}", event::type_of(outgoing.event)));
    add(fmt::format("X-Quarry-Delivery: {}", outgoing.message.id));
    if (!secret_.empty()) {
      // Receivers for GitHub and Gitea can verify their own headers.
      const std::string signature = signature_of(secret_, body);
      add("X-Quarry-Signature: sha256=" + signature);
      add("X-Hub-Signature-256: sha256=" + signature);
      add("X-Gitea-Signature: " + signature);
    }
    for (const std::string& header : options_.headers) add(header);
    return headers;
  }

  DeliveryResult answer_of(CURLcode code) {
    long status = 0;
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    const bool is_answered = code == CURLE_OK || (code == CURLE_WRITE_ERROR && status != 0);
    if (!is_answered) {
      if (code == CURLE_ABORTED_BY_CALLBACK) return {.outcome = spool::Outcome::kReturned};
      if (!refused_.empty()) {
        return give_up(fmt::format(
            "{}: {} is not a public address; to allow it, list it in repository_webhooks.allow",
            origin_of(options_.url), refused_));
      }
      const char* why = message_[0] != '\0' ? message_.data() : curl_easy_strerror(code);
      return retry_later(fmt::format("{}: {}", origin_of(options_.url), base::printable(why)));
    }
    const bool is_done = status >= 200 && status < 300;
    DeliveryResult result = is_done ? DeliveryResult() : failure_of(status);
    result.status = status;
    result.response = beginning_;
    return result;
  }

  DeliveryResult failure_of(long status) {
    std::string why = fmt::format("{}: HTTP status {}", origin_of(options_.url), status);
    if (!elsewhere_.empty()) {
      why += fmt::format(
          ": did not follow the redirect to {}, which has another origin; if the redirect is "
          "correct, set url to that address",
          elsewhere_);
    }
    if (!beginning_.empty()) why += ": " + base::printable(beginning_, kShownReply);
    if (is_final_status(status)) return give_up(std::move(why));
    DeliveryResult result = retry_later(std::move(why));
    curl_off_t seconds = 0;
    if (curl_easy_getinfo(handle_, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0) {
      const std::chrono::seconds asked(
          std::min<curl_off_t>(seconds, kMaxRetryAfter.count() / 1000));
      result.delay = asked;
    }
    return result;
  }

  DestinationOptions options_;
  std::string secret_;
  std::optional<BodyTemplate> template_;
  std::optional<AddressRules> rules_;
  Interrupted is_interrupted_;
  CURL* handle_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  std::size_t received_ = 0;  // number of bytes of the response body
  std::string beginning_;
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
  return std::make_unique<WebhookSender>(options, secret, std::nullopt, std::move(is_interrupted),
                                         rules);
}

}  // namespace quarry::courier
