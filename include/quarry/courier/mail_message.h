// Composes a mail message. It owns the objects of GMime that it uses.
#pragma once

#include <memory>
#include <string>

#include "quarry/base/time.h"

struct _GMimeMessage;

namespace quarry::courier {

/// A mail message. Texts are UTF-8. Invalid UTF-8 and control characters never reach a header.
class MailMessage {
 public:
  MailMessage();

  /// NAME may be empty.
  void set_from(const std::string& name, const std::string& address);
  void add_recipient(const std::string& address);
  void set_subject(const std::string& subject);
  void set_date(base::UnixMillis time);
  /// ID has no angle brackets.
  void set_message_id(const std::string& id);
  /// Sets a header whose value is text for people; the value is encoded as needed.
  void set_header(const char* name, const std::string& value);
  /// Sets a header whose value is for programs (an address, a URL); it is neither folded nor
  /// encoded.
  void set_token_header(const char* name, const std::string& value);
  void set_body(const std::string& text);

  /// Line endings of the message. sendmail(8) expects LF; SmtpSender converts either to CRLF.
  enum class LineEnd { kCrLf, kLf };
  std::string text(LineEnd line_end = LineEnd::kCrLf) const;

 private:
  struct Release {
    void operator()(_GMimeMessage* message) const;
  };
  std::unique_ptr<_GMimeMessage, Release> message_;
};

}  // namespace quarry::courier
