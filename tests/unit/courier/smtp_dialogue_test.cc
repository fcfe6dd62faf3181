// The outcome of a mail, from the server's replies.
#include "smtp_dialogue.h"

#include <doctest/doctest.h>

using namespace quarry::courier;

namespace {

struct Turn {
  const char* command;
  const char* answer;
};

MailReport report_of(std::size_t recipients, std::initializer_list<Turn> turns,
                     const std::string& error = "") {
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

TEST_CASE("accepted recipients get the mail once the server has accepted it") {
  const auto report = report_of(2, {{"EHLO me", "250 hello"},
                                    {"MAIL FROM:<a@b>", "250 ok"},
                                    {"RCPT TO:<c@d>", "250 ok"},
                                    {"RCPT TO:<e@f>", "250 ok"},
                                    {"DATA", "354 go on"},
                                    {"", "250 taken"}});
  CHECK(report.is_sent_to_all());
  CHECK(report.why().empty());
}

TEST_CASE("each recipient has its own outcome") {
  const auto report = report_of(3, {{"MAIL FROM:<a@b>", "250 ok"},
                                    {"RCPT TO:<c@d>", "550 5.1.1 no such user"},
                                    {"RCPT TO:<e@f>", "250 ok"},
                                    {"RCPT TO:<g@h>", "452 too many"},
                                    {"DATA", "354 go on"},
                                    {"", "250 taken"}});
  CHECK(report.recipients[0].outcome == MailOutcome::kRefused);
  CHECK(report.recipients[0].why == "550 5.1.1 no such user");
  CHECK(report.recipients[1].outcome == MailOutcome::kSent);
  CHECK(report.recipients[2].outcome == MailOutcome::kDeferred);
  CHECK(report.is_any_deferred());
}

TEST_CASE("the reply to QUIT does not affect a mail") {
  const auto report = report_of(
      1, {{"MAIL FROM:<a@b>", "250 ok"}, {"RCPT TO:<c@d>", "550 no"}, {"QUIT", "221 bye"}}, "x");
  CHECK(report.recipients[0].outcome == MailOutcome::kRefused);
}

TEST_CASE("a mail that is refused after DATA reaches no recipient") {
  const auto report = report_of(1,
                                {{"MAIL FROM:<a@b>", "250 ok"},
                                 {"RCPT TO:<c@d>", "250 ok"},
                                 {"DATA", "354 go on"},
                                 {"", "554 spam"}},
                                "failed");
  CHECK(report.recipients[0].outcome == MailOutcome::kRefused);
}

TEST_CASE("a connection that breaks before the last reply defers the mail") {
  const auto report = report_of(
      1, {{"MAIL FROM:<a@b>", "250 ok"}, {"RCPT TO:<c@d>", "250 ok"}, {"DATA", "354 go on"}},
      "it broke");
  CHECK(report.recipients[0].outcome == MailOutcome::kDeferred);
  CHECK(report.recipients[0].why == "it broke");
}

TEST_CASE("a missing or refused login does not make the failure permanent") {
  CHECK(report_of(1, {{"MAIL FROM:<a@b>", "530 log in"}}, "x").recipients[0].outcome ==
        MailOutcome::kDeferred);
  CHECK(report_of(1, {{"AUTH PLAIN secret", "535 no"}}, "login denied").recipients[0].why ==
        "login denied");
}

TEST_CASE("only the last line of a reply counts, and invalid replies are ignored") {
  const auto report = report_of(
      1, {{"MAIL FROM:<a@b>", "250-one\r\n"}, {"", "nonsense"}, {"", "2"}, {"", "550 no\r\n"}});
  CHECK(report.recipients[0].outcome == MailOutcome::kRefused);
  CHECK(report.recipients[0].why == "550 no");
}
