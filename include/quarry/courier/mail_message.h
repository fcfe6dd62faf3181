// A message in the making: GMime behind RAII.
#pragma once

#include <memory>
#include <string>

#include "quarry/base/time.h"

struct _GMimeMessage;

namespace quarry::courier {

/// Texts are taken as UTF-8; what is not, and control characters, cannot get into a header.
class MailMessage {
 public:
  MailMessage();

  /// NAME may be empty.
  void set_from(const std::string& name, const std::string& address);
  void add_recipient(const std::string& address);
  void set_subject(const std::string& subject);
  void set_date(base::UnixMillis time);
  /// Without angle brackets.
  void set_message_id(const std::string& id);
  /// Text for people.
  void set_header(const char* name, const std::string& value);
  /// A value for programs: an address, a URL or the like, neither folded nor encoded.
  void set_token_header(const char* name, const std::string& value);
  void set_body(const std::string& text);

  /// Lines end with LINE_END; sendmail(8) takes LF, and SMTP, which needs CRLF, makes it of either.
  enum class LineEnd { kCrLf, kLf };
  std::string text(LineEnd line_end = LineEnd::kCrLf) const;

 private:
  struct Release {
    void operator()(_GMimeMessage* message) const;
  };
  std::unique_ptr<_GMimeMessage, Release> message_;
};

}  // namespace quarry::courier
