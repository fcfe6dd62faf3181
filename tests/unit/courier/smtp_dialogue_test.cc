#include "smtp_dialogue.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace quarry::courier;

namespace {

struct Turn {
  const char* command;
  const char* answer;
};

MailReport report_of(const std::vector<Turn>& turns, const std::string& error,
                     std::size_t recipients = 1) {
  SmtpDialogue dialogue;
  dialogue.begin(recipients);
  dialogue.received("220 mail.example\r\n");
  for (const Turn& turn : turns) {
    if (*turn.command != '\0') dialogue.sent(turn.command);
    if (*turn.answer != '\0') dialogue.received(turn.answer);
  }
  return dialogue.report(error);
}

}  // namespace

TEST_CASE("each recipient has its own outcome") {
  const auto report = report_of({{"EHLO me", "250 hello"},
                                 {"MAIL FROM:<a@b>", "250 ok"},
                                 {"RCPT TO:<c@d>", "550 5.1.1 no such user"},
                                 {"RCPT TO:<e@f>", "250 ok"},
                                 {"RCPT TO:<g@h>", "452 too many"},
                                 {"DATA", "354 go on"},
                                 {"", "250 taken"}},
                                "", 3);
  CHECK(report.recipients[0].outcome == MailOutcome::kRefused);
  CHECK(report.recipients[0].why == "550 5.1.1 no such user");
  CHECK(report.recipients[1].outcome == MailOutcome::kSent);
  CHECK(report.recipients[2].outcome == MailOutcome::kDeferred);
  CHECK(report.is_any_deferred());
  CHECK_FALSE(report.is_sent_to_all());
}

TEST_CASE("the outcome of an email follows from the replies to its commands") {
  constexpr Turn kMail{"MAIL FROM:<a@b>", "250 ok"};
  constexpr Turn kRecipient{"RCPT TO:<c@d>", "250 ok"};
  constexpr Turn kData{"DATA", "354 go on"};
  struct Case {
    std::vector<Turn> turns;
    std::string error;  // libcurl's error message
    MailOutcome outcome;
    std::string why;
  };
  for (const Case& each : std::vector<Case>{
           {{kMail, kRecipient, kData, {"", "250 taken"}}, "", MailOutcome::kSent, ""},
           {{kMail, kRecipient, kData, {"", "554 spam"}}, "x", MailOutcome::kRefused, "554 spam"},
           // The connection breaks before the last reply.
           {{kMail, kRecipient, kData}, "it broke", MailOutcome::kDeferred, "it broke"},
           // The outcome does not depend on the reply to QUIT.
           {{kMail, {"RCPT TO:<c@d>", "550 no"}, {"QUIT", "221 bye"}},
            "x",
            MailOutcome::kRefused,
            "550 no"},
           // An error during login is treated as temporary, although its code is 5xx.
           {{{"MAIL FROM:<a@b>", "530 log in"}}, "x", MailOutcome::kDeferred, "530 log in"},
           {{{"AUTH PLAIN secret", "535 no"}}, "denied", MailOutcome::kDeferred, "denied"},
           // The last valid line of a reply determines the outcome. Invalid lines are ignored.
           {{{"MAIL FROM:<a@b>", "250-one\r\n"}, {"", "nonsense"}, {"", "2"}, {"", "550 no\r\n"}},
            "x",
            MailOutcome::kRefused,
            "550 no"}}) {
    CAPTURE(each.why);
    const auto report = report_of(each.turns, each.error);
    CHECK(report.recipients[0].outcome == each.outcome);
    CHECK(report.recipients[0].why == each.why);
    CHECK(report.why() == each.why);
  }
}
