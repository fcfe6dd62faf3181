#include "redaction.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

TEST_CASE("paths, mail addresses and users in URLs are removed, and other text is unchanged") {
  const std::vector<std::pair<std::string, std::string>> kMessages = {
      {"/srv/fossil/team/one.fossil: database is locked", "team/one: database is locked"},
      {"cannot open /etc/quarry/mirror.password: Permission denied",
       "cannot open .../mirror.password: Permission denied"},
      {"\"/var/spool/mail\" (email-send-dir)", "\".../mail\" (email-send-dir)"},
      {"mail to bob@example.org: 550 <bob@example.org>: no such user (given up)",
       "mail to (an address): 550 <(an address)>: no such user (given up)"},
      {"to=bob+x@example.org,eve@example.org", "to=(an address),(an address)"},
      {"https://ann@fossil.example.org/one: no answer",
       "https://fossil.example.org/one: no answer"},
      {"at https://ann:pen;cil@fossil.example.org/one", "at https://fossil.example.org/one"},
  };
  for (const auto& [message, redacted] : kMessages) {
    CHECK(quarry::backoffice::redact(message, "/srv/fossil/team/one.fossil", "team/one") ==
          redacted);
  }
  for (const char* text : {"", "@", "3 damaged artifacts, the first is 1234: none", "a / b",
                           "a  b\n", "http://127.0.0.1:8080/one: HTTP status 500"}) {
    CHECK(quarry::backoffice::redact(text, "/srv/fossil/team/one.fossil", "team/one") == text);
  }
}
