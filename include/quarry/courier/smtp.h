// Mail to an SMTP server: smtp, smtps or STARTTLS, with or without a login. What is sent was composed
// by somebody else; here is only the envelope, and what the server has said to it.
//
// A connection is used for several mails. Nothing of the environment (http_proxy and the like) is
// respected. In the courier's process, or in a backoffice; one thread at a time.
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
  /// Encrypted where the server offers it. As between mail servers, no certificate is checked, unless
  /// there is a ca_file or a user.
  kIfOffered,
  kRequired,  // and the certificate is checked
};

struct SmtpOptions {
  /// smtp://HOST[:PORT] or smtps://HOST[:PORT]; a path is the name for EHLO.
  std::string url = "smtp://localhost";
  StartTls start_tls = StartTls::kIfOffered;  // of smtp://
  std::string user = {};                      // "": no login
  std::string password = {};
  std::string ca_file = {};  // PEM; "": the system's authorities
  std::chrono::milliseconds connect_timeout{30'000};
  /// For a whole mail. A server may take minutes to look into one.
  std::chrono::milliseconds timeout{300'000};
  /// Asked once a second, at least, while a mail is sent: whether to give up. May be empty.
  std::function<bool()> is_interrupted = {};
};

/// Errors: kInvalid, URL is none of an SMTP server, or holds a password.
base::Result<void> check_smtp_url(std::string_view url);

inline constexpr std::size_t kMaxMail = std::size_t{48} << 20;  // bytes
inline constexpr std::size_t kMaxRecipients = 1000;

struct Mail {
  /// Addresses as they stand in the envelope: name@domain. From "": no one wants to know of failures.
  std::string from;
  std::vector<std::string> recipients;
  /// Header and body, whole. Lines may end in LF or CRLF. Not owned.
  std::string_view message;
};

enum class MailOutcome : std::uint8_t {
  kSent,      // the server has taken it over
  kDeferred,  // not now: the server is away, or has said so; again later
  kRefused,   // never: it would say the same again
};

struct RecipientResult {
  MailOutcome outcome = MailOutcome::kDeferred;
  std::string why;  // what the server, or libcurl, has said, printable; "" of kSent
};

struct MailReport {
  /// Of each of Mail::recipients, in their order.
  std::vector<RecipientResult> recipients;

  bool is_sent_to_all() const;
  /// Whether any is to be tried later.
  bool is_any_deferred() const;
  /// Why somebody did not get it: of the first of those; "": everybody did.
  std::string why() const;
};

class SmtpSender {
 public:
  explicit SmtpSender(SmtpOptions options);
  ~SmtpSender();
  SmtpSender(const SmtpSender&) = delete;
  SmtpSender& operator=(const SmtpSender&) = delete;

  /// Sends MAIL. Recipients that the server refuses do not keep the others from getting it. What is
  /// no address, too long, or has too many recipients is refused without asking a server.
  MailReport send(const Mail& mail);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::courier
