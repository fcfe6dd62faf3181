// Sends composed mails to an SMTP server: smtp, smtps or STARTTLS, with or without a login. Handles
// the envelope, and reports what the server replied for each recipient.
//
// A connection is reused for several mails. Environment variables (http_proxy and the like) are
// ignored. Used by the courier and the backoffice; not thread-safe.
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
  /// Encrypt if the server offers it. As between mail servers, the certificate is not verified
  /// unless there is a ca_file or a user.
  kIfOffered,
  kRequired,  // and verify the certificate
};

struct SmtpOptions {
  /// smtp://HOST[:PORT] or smtps://HOST[:PORT]; a path is the name to send with EHLO.
  std::string url = "smtp://localhost";
  StartTls start_tls = StartTls::kIfOffered;  // applies to smtp://
  std::string user = {};                      // "": no login
  std::string password = {};
  std::string ca_file = {};  // PEM; "": the system's CA certificates
  std::chrono::milliseconds connect_timeout{30'000};
  /// For a whole mail. A server may take minutes to scan one.
  std::chrono::milliseconds timeout{300'000};
  /// Whether to abort; called at least once a second while a mail is sent. May be empty.
  std::function<bool()> is_interrupted = {};
};

/// Errors: kInvalid (URL is not an SMTP URL, or contains a password).
base::Result<void> check_smtp_url(std::string_view url);

inline constexpr std::size_t kMaxMail = std::size_t{48} << 20;  // bytes
inline constexpr std::size_t kMaxRecipients = 1000;

struct Mail {
  /// Envelope addresses: name@domain. An empty `from` asks for no bounces.
  std::string from;
  std::vector<std::string> recipients;
  /// Header and body. Lines may end in LF or CRLF. Not owned.
  std::string_view message;
};

enum class MailOutcome : std::uint8_t {
  kSent,      // the server accepted it
  kDeferred,  // a temporary failure: try again later
  kRefused,   // a permanent failure
};

struct RecipientResult {
  MailOutcome outcome = MailOutcome::kDeferred;
  std::string why;  // the reply of the server, or libcurl's error, printable; "" for kSent
};

struct MailReport {
  /// In the order of Mail::recipients.
  std::vector<RecipientResult> recipients;

  bool is_sent_to_all() const;
  /// Whether to try again later for any recipient.
  bool is_any_deferred() const;
  /// The first failure among the recipients; "" if there is none.
  std::string why() const;
};

class SmtpSender {
 public:
  explicit SmtpSender(SmtpOptions options);
  ~SmtpSender();
  SmtpSender(const SmtpSender&) = delete;
  SmtpSender& operator=(const SmtpSender&) = delete;

  /// Sends MAIL. Recipients that the server refuses do not affect the others. An invalid address, a
  /// mail that is too long, or too many recipients are refused without contacting the server.
  MailReport send(const Mail& mail);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::courier
