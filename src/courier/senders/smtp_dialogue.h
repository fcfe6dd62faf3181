// What an SMTP server has answered to which command (RFC 5321), as libcurl tells it line by line:
// libcurl itself only returns the last status, which need not be the one that mattered.
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
  /// A mail to so many RECIPIENTS begins.
  void begin(std::size_t recipients);
  /// COMMAND was sent. Nothing of it is kept: it may hold a password.
  void sent(std::string_view command);
  /// A line of an answer has come.
  void received(std::string_view line);

  /// Whether the server has begun to take the message: without its last answer nobody knows what
  /// became of it.
  bool has_begun_message() const { return stage_ == Stage::kMessage; }
  /// What became of the mail, where everything has gone well (ERROR is ""), or ended with ERROR.
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
  std::optional<Answer> refusal_;  // of the mail as a whole
  bool is_accepted_ = false;
};

}  // namespace quarry::courier
