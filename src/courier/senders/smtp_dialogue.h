// Finds out which SMTP command got which reply (RFC 5321) from libcurl's debug output. libcurl
// itself returns only the last status, which may not be the relevant one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/courier/smtp.h"

namespace quarry::courier {

class SmtpDialogue {
 public:
  /// Starts a mail to RECIPIENTS recipients.
  void begin(std::size_t recipients);
  /// Call this when COMMAND was sent. It is not stored, because it may contain a password.
  void sent(std::string_view command);
  /// Call this when a line of a reply was received.
  void received(std::string_view line);

  /// Returns whether the server has begun to receive the message. After that, the outcome is
  /// unknown until the server has sent its final reply.
  bool has_begun_message() const { return stage_ == Stage::kMessage; }
  /// Returns the outcome of the mail, which succeeded (ERROR is "") or failed with ERROR.
  MailReport report(const std::string& error) const;

 private:
  enum class Stage { kOther, kMail, kRecipient, kData, kMessage };
  struct Answer {
    int status = 0;
    std::string text;
  };

  static std::optional<Answer> answer_of(std::string_view line);
  static RecipientResult result_of(const Answer& answer);

  Stage stage_ = Stage::kOther;
  std::size_t next_recipient_ = 0;
  std::vector<std::optional<Answer>> recipients_;
  std::optional<Answer> refusal_;  // for the mail as a whole
  bool is_accepted_ = false;
};

}  // namespace quarry::courier
