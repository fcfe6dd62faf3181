// Sends log lines to a syslog server over TCP (RFC 6587) or TLS (RFC 5425). libcurl makes the
// connection and verifies the server's certificate.
//
// A syslog server does not acknowledge messages. If the server dies, lines in the buffers of the
// connection are lost.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
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
// Size of a message that servers should accept (RFC 5425, section 4.3.1). rsyslog cuts longer
// messages, and loses all messages of a connection after one of 200,000 bytes.
constexpr std::size_t kMaxMessage = 8192;
constexpr std::size_t kMaxHead = 1024;

/// Returns URL with a scheme that makes libcurl connect: http, or https for TLS.
std::string curl_url_of(const std::string& url) {
  const bool is_tls = url.starts_with(kTls);
  const std::string address = url.substr(is_tls ? kTls.size() : kTcp.size());
  const bool has_port = address.find(':', address.rfind(']') + 1) != std::string::npos;
  return fmt::format("{}://{}{}", is_tls ? "https" : "http", address,
                     has_port ? "" : (is_tls ? ":6514" : ":514"));
}

/// Returns the beginning of TEXT, at most SIZE bytes. Does not cut a character of UTF-8.
std::string_view first_part(std::string_view text, std::size_t size) {
  if (text.size() <= size) return text;
  constexpr std::size_t kLongestCharacter = 4;
  const auto is_inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  std::size_t end = size;
  while (end > size - kLongestCharacter && is_inside(end)) --end;
  return text.substr(0, is_inside(end) ? size : end);
}

class SyslogLineSender final : public LineSender {
 public:
  SyslogLineSender(const DestinationOptions& options, Interrupted is_interrupted)
      : options_(options),
        url_(curl_url_of(options.url)),
        host_(host_name()),
        is_interrupted_(std::move(is_interrupted)) {}

  LineDelivery send(std::span<const LogLine> lines) override {
    if (connection_ && !is_alive()) connection_.reset();
    std::string error = connection_ ? std::string() : connect();
    if (!error.empty()) return {.error = std::move(error)};
    std::string text;
    std::vector<std::size_t> ends;
    for (const LogLine& line : lines) {
      text += syslog_frames(line, options_.facility, options_.tag, host_);
      ends.push_back(text.size());
    }
    std::size_t sent = 0;
    error = send_text(text, sent);
    if (error.empty()) return {.delivered = lines.size()};
    // Disconnect after an incomplete message, because the server then discards it.
    connection_.reset();
    return {
        .delivered = static_cast<std::size_t>(std::ranges::upper_bound(ends, sent) - ends.begin()),
        .error = std::move(error)};
  }

 private:
  std::string connect() {
    connection_.emplace(is_interrupted_, options_.ca_file);
    connection_->set(CURLOPT_URL, url_.c_str());
    connection_->set(CURLOPT_CONNECT_ONLY, 1L);
    connection_->set(CURLOPT_SSL_ENABLE_ALPN, 0L);
    connection_->set(CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(options_.delivery_timeout().count()));
    const CURLcode code = connection_->perform();
    if (code == CURLE_OK) return {};
    std::string error =
        fmt::format("cannot connect to {}: {}", options_.url, connection_->error(code));
    connection_.reset();
    return error;
  }

  /// Returns whether the server has not closed the connection.
  bool is_alive() {
    std::array<char, 256> ignored;
    std::size_t size = 0;
    CURLcode code = CURLE_OK;
    do {
      code = curl_easy_recv(connection_->handle(), ignored.data(), ignored.size(), &size);
    } while (code == CURLE_OK && size > 0);
    return code == CURLE_AGAIN;
  }

  /// Sends TEXT and sets SENT to the number of sent bytes. Returns an error, or "" if TEXT is sent.
  std::string send_text(std::string_view text, std::size_t& sent) {
    CURL* const handle = connection_->handle();
    const auto end = steady_clock::now() + options_.delivery_timeout();
    while (sent < text.size()) {
      std::size_t size = 0;
      const CURLcode code = curl_easy_send(handle, text.data() + sent, text.size() - sent, &size);
      sent += size;
      if (code == CURLE_OK) continue;
      if (code != CURLE_AGAIN) {
        return fmt::format("cannot send to {}: {}", options_.url, curl_easy_strerror(code));
      }
      if (is_interrupted_() || steady_clock::now() > end) {
        return fmt::format("{} does not accept data", options_.url);
      }
      curl_socket_t socket = CURL_SOCKET_BAD;
      curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &socket);
      pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, kSendPollMs);
    }
    return {};
  }

  DestinationOptions options_;
  std::string url_;
  std::string host_;
  Interrupted is_interrupted_;
  std::optional<Transfer> connection_;
};

}  // namespace

std::string syslog_frames(const LogLine& line, int facility, const std::string& tag,
                          const std::string& host) {
  constexpr std::size_t kMaxMessageId = 32;  // RFC 5424, section 6
  const std::string head =
      fmt::format("<{}>1 {} {} {} - {} - ", facility | line.severity, base::iso_micros(line.micros),
                  host, tag, line.log.substr(0, kMaxMessageId));
  std::string_view text = line.log == kErrorLog ? without_head(line.text) : line.text;
  std::string frames;
  do {
    const std::string_view part = first_part(text, kMaxMessage - std::min(head.size(), kMaxHead));
    frames += fmt::format("{} {}{}", head.size() + part.size(), head, part);
    text.remove_prefix(part.size());
  } while (!text.empty());
  return frames;
}

std::unique_ptr<LineSender> make_syslog_line_sender(const DestinationOptions& options,
                                                    Interrupted is_interrupted) {
  return std::make_unique<SyslogLineSender>(options, std::move(is_interrupted));
}

}  // namespace quarry::courier
