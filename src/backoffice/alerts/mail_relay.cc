#include "mail_relay.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "quarry/base/escape.h"

namespace quarry::backoffice {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// A mail is claimed for some minutes only, so a slow server is given up and tried again later. A
// mail being transferred is not interrupted, because its outcome would be unknown.
constexpr std::chrono::seconds kConnectTime{15};
constexpr std::chrono::seconds kMailTime{60};
// A server that is silent for this long will not answer for the next mail either.
constexpr std::chrono::seconds kSilence{10};

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 300 && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view(".-_:[]").find(c) != std::string_view::npos;
  });
}

}  // namespace

Result<std::unique_ptr<MailSender>> MailRelay::make(const std::string& host,
                                                    const std::string& domain) {
  courier::SmtpOptions options{.url = "smtp://" + host + (is_host(domain) ? "/" + domain : ""),
                               .connect_timeout = kConnectTime,
                               .timeout = kMailTime};
  if (!is_host(host) || !courier::check_smtp_url(options.url)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("email-send-relayhost, \"{}\", is not of the form HOST or HOST:PORT",
                            base::printable(host)));
  }
  return std::unique_ptr<MailSender>(new MailRelay(host, std::move(options)));
}

MailRelay::MailRelay(std::string host, courier::SmtpOptions options)
    : host_(std::move(host)), smtp_(std::move(options)) {}

Result<void> MailRelay::send(const RenderedMail& mail) {
  const auto begin = std::chrono::steady_clock::now();
  const courier::MailReport report =
      smtp_.send({.from = mail.from, .recipients = {mail.to}, .message = mail.message});
  if (report.is_sent_to_all()) return {};
  const std::string why = fmt::format("{} (email-send-relayhost): {}", host_, report.why());
  if (!report.is_any_deferred()) return fail(ErrorCode::kDenied, why);
  const bool was_silent = std::chrono::steady_clock::now() - begin > kSilence;
  return fail(was_silent ? ErrorCode::kBusy : ErrorCode::kIo, why);
}

}  // namespace quarry::backoffice
