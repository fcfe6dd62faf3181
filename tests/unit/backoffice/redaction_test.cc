// What is removed from messages before they are published.

#include "redaction.h"

#include <doctest/doctest.h>

using quarry::backoffice::redact;

namespace {

std::string redacted(std::string_view message) {
  return redact(message, "/srv/fossil/team/one.fossil", "team/one");
}

}  // namespace

TEST_CASE("the path of a repository is replaced by its name") {
  CHECK(redacted("/srv/fossil/team/one.fossil: database is locked") ==
        "team/one: database is locked");
  CHECK(redacted("cannot open /etc/quarry/mirror.password: Permission denied") ==
        "cannot open .../mirror.password: Permission denied");
  CHECK(redacted("\"/var/spool/mail\" (email-send-dir)") == "\".../mail\" (email-send-dir)");
}

TEST_CASE("mail addresses are removed") {
  CHECK(redacted("mail to bob@example.org: 550 <bob@example.org>: no such user (given up)") ==
        "mail to (an address): 550 <(an address)>: no such user (given up)");
  CHECK(redacted("to=bob+x@example.org,eve@example.org") == "to=(an address),(an address)");
}

TEST_CASE("the user is removed from a server's URL") {
  CHECK(redacted("https://ann@fossil.example.org/one: no answer") ==
        "https://fossil.example.org/one: no answer");
  CHECK(redacted("http://127.0.0.1:8080/one: HTTP status 500") ==
        "http://127.0.0.1:8080/one: HTTP status 500");
}

TEST_CASE("other text is unchanged") {
  for (const char* text :
       {"", "@", "3 damaged artifacts, among them 1234: none", "a / b", "a  b\n"}) {
    CHECK(redacted(text) == text);
  }
}
