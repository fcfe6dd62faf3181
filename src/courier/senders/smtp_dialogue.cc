#include "smtp_dialogue.h"

#include "quarry/base/escape.h"
#include "quarry/base/number.h"

namespace quarry::courier {
namespace {

constexpr std::size_t kMaxShown = 400;
constexpr std::size_t kMaxLine = 2000;

// Statuses for a missing or refused login, which mean that the configuration is wrong, not the
// email.
constexpr int kLoginWanted = 530;
constexpr int kLoginRefused = 535;

}  // namespace

void SmtpDialogue::begin(std::size_t recipients) {
  *this = {};
  recipients_.resize(recipients);
}

void SmtpDialogue::sent(std::string_view command) {
  if (command.starts_with("MAIL ")) {
    stage_ = Stage::kMail;
  } else if (command.starts_with("RCPT ")) {
    // Go on to the next recipient only when its RCPT command is sent. All earlier replies belong to
    // the previous command.
    if (stage_ == Stage::kRecipient) ++next_recipient_;
    stage_ = Stage::kRecipient;
  } else if (command.starts_with("DATA")) {
    stage_ = Stage::kData;
  } else {
    // Any other command, such as QUIT.
    stage_ = Stage::kOther;
  }
}

std::optional<SmtpDialogue::Answer> SmtpDialogue::answer_of(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  const auto status = base::parse_number<int>(line.substr(0, 3));
  if (!status || line.size() < 3) return std::nullopt;
  // Skip continuation lines, because the last line of a reply is sufficient.
  if (line.size() > 3 && line[3] == '-') return std::nullopt;
  return Answer{*status, base::printable(line.substr(0, kMaxLine), kMaxShown)};
}

void SmtpDialogue::received(std::string_view line) {
  auto answer = answer_of(line);
  if (!answer) return;
  const bool is_positive = answer->status < 400;
  switch (stage_) {
    case Stage::kOther:
      break;
    case Stage::kRecipient:
      if (next_recipient_ < recipients_.size()) {
        recipients_[next_recipient_] = std::move(*answer);
      }
      break;
    case Stage::kData:
      if (is_positive) {
        stage_ = Stage::kMessage;
        break;
      }
      [[fallthrough]];
    case Stage::kMail:
      if (!is_positive) refusal_ = std::move(*answer);
      break;
    case Stage::kMessage:
      if (is_positive)
        is_accepted_ = true;
      else
        refusal_ = std::move(*answer);
      break;
  }
}

RecipientResult SmtpDialogue::result_of(const Answer& answer) {
  const bool is_ours = answer.status == kLoginWanted || answer.status == kLoginRefused;
  const bool is_final = answer.status >= 500 && !is_ours;
  return {is_final ? MailOutcome::kRefused : MailOutcome::kDeferred, answer.text};
}

MailReport SmtpDialogue::report(const std::string& error) const {
  MailReport report;
  for (const auto& answer : recipients_) {
    RecipientResult result;
    // If the server refused this recipient, report the refusal, which is more useful than the
    // outcome of the whole email.
    if (answer && answer->status >= 400) {
      result = result_of(*answer);
    } else if (is_accepted_ && answer) {
      result.outcome = MailOutcome::kSent;
    } else if (refusal_) {
      result = result_of(*refusal_);
    } else {
      result.why = error.empty() ? "the server did not reply for this recipient" : error;
    }
    report.recipients.push_back(std::move(result));
  }
  return report;
}

}  // namespace quarry::courier
