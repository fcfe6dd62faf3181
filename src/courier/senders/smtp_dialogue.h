// Determines the reply to each SMTP command (RFC 5321) from libcurl's debug output. libcurl itself
// returns only the last status, which might belong to another command.
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
  /// Starts an email with RECIPIENTS recipients.
  void begin(std::size_t recipients);
  /// Called after COMMAND was sent. COMMAND is not stored, because it might contain a password.
  void sent(std::string_view command);
  /// Called after a line of a reply was received.
  void received(std::string_view line);

  /// Returns whether the server has begun to receive the message. From then on, the outcome is
  /// unknown until the server sends its final reply.
  bool has_begun_message() const { return stage_ == Stage::kMessage; }
  /// Returns the outcome of the email. ERROR is "" for success, or the reason of the failure.
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
  std::optional<Answer> refusal_;  // refusal of the whole email
  bool is_accepted_ = false;
};

}  // namespace quarry::courier
