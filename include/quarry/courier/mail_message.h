// Composes mail messages with GMime.
#pragma once

#include <memory>
#include <string>

#include "quarry/base/time.h"

struct _GMimeMessage;

namespace quarry::courier {

/// An email message. Texts are UTF-8. Invalid UTF-8 and control characters never reach a header.
class MailMessage {
 public:
  MailMessage();

  /// Sets the sender. NAME can be empty.
  void set_from(const std::string& name, const std::string& address);
  void add_recipient(const std::string& address);
  void set_subject(const std::string& subject);
  void set_date(base::UnixMillis time);
  /// Sets the Message-ID. ID does not include angle brackets.
  void set_message_id(const std::string& id);
  /// Sets a header with human-readable text. The value is encoded if necessary.
  void set_header(const char* name, const std::string& value);
  /// Sets a header with a value for programs, such as an address or a URL. The value is neither
  /// folded nor encoded.
  void set_token_header(const char* name, const std::string& value);
  void set_body(const std::string& text);

  /// Line endings of the message. sendmail(8) expects LF. SmtpSender accepts LF and CRLF, and sends
  /// CRLF.
  enum class LineEnd { kCrLf, kLf };
  std::string text(LineEnd line_end = LineEnd::kCrLf) const;

 private:
  struct Release {
    void operator()(_GMimeMessage* message) const;
  };
  std::unique_ptr<_GMimeMessage, Release> message_;
};

}  // namespace quarry::courier
