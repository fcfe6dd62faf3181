// Sends composed emails to an SMTP server: smtp, smtps or STARTTLS, with or without a login. The
// sender writes the envelope and reports the server's reply for each recipient.
//
// Several emails can use the same connection. Environment variables such as http_proxy are ignored.
// The courier and the backoffice use SmtpSender, which is not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::courier {

enum class StartTls : std::uint8_t {
  kOff,
  /// Encrypt if the server supports encryption. As usual between mail servers, the certificate is
  /// verified only if ca_file or user is set.
  kIfOffered,
  kRequired,  // encrypt, and verify the certificate
};

struct SmtpOptions {
  /// smtp://HOST[:PORT][/NAME] or smtps://HOST[:PORT][/NAME]. NAME is the name to send with EHLO.
  std::string url = "smtp://localhost";
  StartTls start_tls = StartTls::kIfOffered;  // applies to smtp://
  std::string user = {};                      // "": do not log in
  std::string password = {};
  std::string ca_file = {};  // file in PEM format; "": the system's CA certificates
  std::chrono::milliseconds connect_timeout{30'000};
  /// Timeout for a whole email. Some servers scan an email for minutes.
  std::chrono::milliseconds timeout{300'000};
  /// Returns whether to abort. Called at least once a second while an email is sent. Optional.
  std::function<bool()> is_interrupted = {};
};

/// Checks that URL is an SMTP URL without a password. Errors: kInvalid.
Result<void> check_smtp_url(std::string_view url);

inline constexpr std::size_t kMaxMail = std::size_t{48} << 20;  // bytes
inline constexpr std::size_t kMaxRecipients = 1000;

struct Mail {
  /// Envelope addresses of the form name@domain. If `from` is empty, bounces are not sent.
  std::string from;
  std::vector<std::string> recipients;
  /// Header and body. Lines end in LF or CRLF. Not owned.
  std::string_view message;
};

enum class MailOutcome : std::uint8_t {
  kSent,      // the server accepted the email
  kDeferred,  // a temporary failure; try again later
  kRefused,   // a permanent failure
};

struct RecipientResult {
  MailOutcome outcome = MailOutcome::kDeferred;
  std::string why;  // the server's reply or libcurl's error, printable; "" for kSent
};

struct MailReport {
  /// The results, in the order of Mail::recipients.
  std::vector<RecipientResult> recipients;

  bool is_sent_to_all() const;
  /// Returns whether a retry is needed for any recipient.
  bool is_any_deferred() const;
  /// Returns the first failure among the recipients, or "" if all succeeded.
  std::string why() const;
};

class SmtpSender {
 public:
  explicit SmtpSender(SmtpOptions options);
  ~SmtpSender();
  SmtpSender(const SmtpSender&) = delete;
  SmtpSender& operator=(const SmtpSender&) = delete;

  /// Sends MAIL. If the server refuses some recipients, the others still get the email. If an
  /// address is invalid, the email is too long, or the number of recipients is too large, the email
  /// is refused without contacting the server.
  MailReport send(const Mail& mail);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::courier
