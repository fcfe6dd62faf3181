// Tests the checks before an email is sent, and sending to servers that are down. The tests in tests/e2e/courier
// use a real mail server.
#include "quarry/courier/smtp.h"

#include <doctest/doctest.h>

#include "quarry/base/socket.h"

using namespace quarry;
using namespace quarry::courier;

TEST_CASE("an invalid address is refused without contacting the server") {
  SmtpSender sender({.url = "smtp://127.0.0.1:1"});
  const auto report = sender.send({"a@b", {"c@d>\r\nRCPT TO:<e@f", "g h"}, "Subject: x\n\nx\n"});
  REQUIRE(report.recipients.size() == 2);
  CHECK(report.recipients[0].outcome == MailOutcome::kRefused);
  CHECK(report.recipients[1].outcome == MailOutcome::kRefused);
  CHECK(sender.send({"a b", {"c@d"}, "x"}).recipients[0].outcome == MailOutcome::kRefused);
  CHECK(sender.send({"a@b", {}, "x"}).recipients.empty());
}

TEST_CASE("a server that is down or hangs defers the mail") {
  const auto address = base::SocketAddress::parse("127.0.0.1:0");
  REQUIRE(address);
  auto listener = base::listen_on(*address);
  REQUIRE(listener);
  const auto local = base::local_address(*listener);
  REQUIRE(local);
  SmtpOptions options{.url = "smtp://" + local->str()};
  options.timeout = std::chrono::milliseconds(300);
  {
    // The listener does not accept connections, so the sender reaches its timeout.
    SmtpSender sender(options);
    CHECK(sender.send({"a@b", {"c@d"}, "x"}).recipients[0].outcome == MailOutcome::kDeferred);
  }
  listener->reset();
  SmtpSender sender(options);
  const auto report = sender.send({"a@b", {"c@d"}, "x"});
  CHECK(report.recipients[0].outcome == MailOutcome::kDeferred);
  CHECK(report.why().find("127.0.0.1") != std::string::npos);
}
