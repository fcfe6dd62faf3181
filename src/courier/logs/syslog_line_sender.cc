// Sends log lines to a syslog server over TCP (RFC 6587) or TLS (RFC 5425). libcurl makes the
// connection and verifies the server's certificate.
//
// A syslog server does not acknowledge messages. If the server dies, lines in the buffers of the
// connection are lost.
#include <curl/curl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "line_sender.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/courier/log_courier.h"

namespace quarry::courier {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view kTls = "syslog+tls://";
constexpr std::string_view kTcp = "syslog://";
constexpr int kSendPollMs = 200;

/// Returns URL with a scheme that makes libcurl connect: http, or https for TLS.
std::string curl_url_of(const std::string& url) {
  const bool is_tls = url.starts_with(kTls);
  const std::string address = url.substr(is_tls ? kTls.size() : kTcp.size());
  const bool has_port = address.find(':', address.rfind(']') + 1) != std::string::npos;
  return fmt::format("{}://{}{}", is_tls ? "https" : "http", address,
                     has_port ? "" : (is_tls ? ":6514" : ":514"));
}

class SyslogLineSender final : public LineSender {
 public:
  explicit SyslogLineSender(const DestinationOptions& options)
      : options_(options), url_(curl_url_of(options.url)), host_(host_name()) {}
  ~SyslogLineSender() override { disconnect(); }

  LineDelivery send(std::span<const LogLine> lines,
                    const LinesInterrupted& is_interrupted) override {
    if (handle_ != nullptr && !is_alive()) disconnect();
    std::string error = handle_ == nullptr ? connect(is_interrupted) : std::string();
    if (!error.empty()) return {.error = std::move(error)};
    std::string text;
    std::vector<std::size_t> ends;
    for (const LogLine& line : lines) {
      text += syslog_frame(line, options_.facility, options_.tag, host_);
      ends.push_back(text.size());
    }
    std::size_t sent = 0;
    error = send_text(text, sent, is_interrupted);
    if (error.empty()) return {.delivered = lines.size()};
    // Disconnect after an incomplete message, because the server then discards it.
    disconnect();
    return {
        .delivered = static_cast<std::size_t>(std::ranges::upper_bound(ends, sent) - ends.begin()),
        .error = std::move(error)};
  }

 private:
  std::string connect(const LinesInterrupted& is_interrupted) {
    handle_ = curl_easy_init();
    const auto timeout = static_cast<long>(options_.delivery_timeout().count());
    is_interrupted_ = &is_interrupted;
    message_[0] = '\0';
    curl_easy_setopt(handle_, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(handle_, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(handle_, CURLOPT_PROXY, "");
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle_, CURLOPT_SSL_ENABLE_ALPN, 0L);
    curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS, timeout);
    curl_easy_setopt(handle_, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle_, CURLOPT_XFERINFOFUNCTION, &check_interrupted);
    curl_easy_setopt(handle_, CURLOPT_XFERINFODATA, this);
    curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, message_.data());
    if (!options_.ca_file.empty()) {
      curl_easy_setopt(handle_, CURLOPT_CAINFO, options_.ca_file.c_str());
      curl_easy_setopt(handle_, CURLOPT_CAPATH, nullptr);
    }
    const CURLcode code = curl_easy_perform(handle_);
    if (code == CURLE_OK) return {};
    const char* why = message_[0] != '\0' ? message_.data() : curl_easy_strerror(code);
    std::string error = fmt::format("cannot connect to {}: {}", options_.url, base::printable(why));
    disconnect();
    return error;
  }

  void disconnect() {
    curl_easy_cleanup(handle_);
    handle_ = nullptr;
  }

  /// Returns whether the server has not closed the connection.
  bool is_alive() {
    std::array<char, 256> ignored;
    std::size_t size = 0;
    CURLcode code = CURLE_OK;
    do {
      code = curl_easy_recv(handle_, ignored.data(), ignored.size(), &size);
    } while (code == CURLE_OK && size > 0);
    return code == CURLE_AGAIN;
  }

  /// Sends TEXT and sets SENT to the number of sent bytes. Returns an error, or "" if TEXT is sent.
  std::string send_text(std::string_view text, std::size_t& sent,
                        const LinesInterrupted& is_interrupted) {
    const auto end = steady_clock::now() + options_.delivery_timeout();
    while (sent < text.size()) {
      std::size_t size = 0;
      const CURLcode code = curl_easy_send(handle_, text.data() + sent, text.size() - sent, &size);
      sent += size;
      if (code == CURLE_OK) continue;
      if (code != CURLE_AGAIN) {
        return fmt::format("cannot send to {}: {}", options_.url, curl_easy_strerror(code));
      }
      if (is_interrupted() || steady_clock::now() > end) {
        return fmt::format("{} does not accept data", options_.url);
      }
      curl_socket_t socket = CURL_SOCKET_BAD;
      curl_easy_getinfo(handle_, CURLINFO_ACTIVESOCKET, &socket);
      pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, kSendPollMs);
    }
    return {};
  }

  static int check_interrupted(void* self, curl_off_t /*unused*/, curl_off_t /*unused*/,
                               curl_off_t /*unused*/, curl_off_t /*unused*/) {
    return (*static_cast<SyslogLineSender*>(self)->is_interrupted_)() ? 1 : 0;
  }

  DestinationOptions options_;
  std::string url_;
  std::string host_;
  CURL* handle_ = nullptr;
  const LinesInterrupted* is_interrupted_ = nullptr;  // during connect()
  std::array<char, CURL_ERROR_SIZE> message_{};
};

}  // namespace

std::string syslog_frame(const LogLine& line, int facility, const std::string& tag,
                         const std::string& host) {
  constexpr std::size_t kMaxMessageId = 32;  // RFC 5424, section 6
  const std::string message =
      fmt::format("<{}>1 {} {} {} - {} - {}", facility | line.severity,
                  base::iso_micros(line.micros), host, tag, line.log.substr(0, kMaxMessageId),
                  line.log == kErrorLog ? without_head(line.text) : line.text);
  return fmt::format("{} {}", message.size(), message);
}

std::unique_ptr<LineSender> make_syslog_line_sender(const DestinationOptions& options) {
  return std::make_unique<SyslogLineSender>(options);
}

}  // namespace quarry::courier
