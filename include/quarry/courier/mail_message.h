// A message in the making: GMime behind RAII.
#pragma once

#include <gmime/gmime.h>

#include <memory>
#include <string>

#include "quarry/base/time.h"

namespace quarry::courier {

/// Texts are taken as UTF-8; what is not, and control characters, cannot get into a header.
class MailMessage {
 public:
  MailMessage();

  /// NAME may be empty.
  void set_from(const std::string& name, const std::string& address);
  void set_to(const std::string& address);
  void set_subject(const std::string& subject);
  void set_date(base::UnixMillis time);
  /// Without angle brackets.
  void set_message_id(const std::string& id);
  /// Text for people.
  void set_header(const char* name, const std::string& value);
  /// A value for programs: an address, a URL or the like, neither folded nor encoded.
  void set_token_header(const char* name, const std::string& value);
  void set_body(const std::string& text);

  /// Lines end with CRLF.
  std::string text() const;

 private:
  struct Release {
    void operator()(GMimeMessage* message) const { g_object_unref(message); }
  };
  std::unique_ptr<GMimeMessage, Release> message_;
};

}  // namespace quarry::courier
