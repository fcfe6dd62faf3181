#include "quarry/base/url.h"

#include <doctest/doctest.h>

using quarry::base::credentials_in;
using quarry::base::with_masked_secrets;
using quarry::base::without_credentials;
using quarry::base::without_secrets;

TEST_CASE("a URL is shown without credentials") {
  CHECK(without_credentials("ftp://u:p@h/x@y") == "ftp://h/x@y");
  CHECK(without_credentials("http://u:p@q@h:8?a@b") == "http://h:8?a@b");
  CHECK(without_credentials("http://u:p@h") == "http://h");
  CHECK(without_credentials("git+ssh://u@[::1]/x") == "git+ssh://[::1]/x");
}

TEST_CASE("an incompletely encoded password is not shown either") {
  CHECK(without_credentials("http://u:p/q@h/x") == "http://h/x");
  CHECK(without_credentials("http://u:p?q#r@h/x?y") == "http://h/x?y");
  CHECK(without_credentials("http://u:8p/q@r@h") == "http://h");
  CHECK(credentials_in("http://u:p/q@h/x") == "u:p/q");
}

TEST_CASE("a URL without a scheme is shown without its password") {
  for (const char* text : {"u:p@h/x", "u:p/q@h/x", "u:p@q@h/x", "u:p?q@h/x"}) {
    CAPTURE(text);
    CHECK(without_credentials(text) == "h/x");
  }
  CHECK(without_credentials("u:p@h/?next=http://i") == "h/?next=http://i");
  CHECK(without_secrets("u:p@h/x?y") == "h/x");
}

TEST_CASE("text without credentials, or that is not a URL, is shown unchanged") {
  for (const char* text :
       {"http://h/x", "/x@y", "http://h/x@y", "http://h:80/x@y", "http://[::1]/x@y",
        "http://h:/x@y", "/x?url=http://a@b", "u@h:x", "h:80/x@y", "C:/x@y", "/x:y@z", "[::1]:9000",
        "a <b:c@d>", "", "://", "a b"}) {
    CAPTURE(text);
    CHECK(without_credentials(text) == text);
  }
}

TEST_CASE("secrets in URLs are masked") {
  CHECK(with_masked_secrets("http://u:p@h/x") == "http://u:***@h/x");
  CHECK(with_masked_secrets("http://u:p/q@r@h") == "http://u:***@h");
  CHECK(with_masked_secrets("http://:p@h") == "http://:***@h");
  CHECK(with_masked_secrets("http://u@h:80/x") == "http://u@h:80/x");
  CHECK(with_masked_secrets("u:p@h/x?t=s") == "u:***@h/x?***");
  CHECK(with_masked_secrets("curl u:p@h/x  --proxy=t:p=@h \"a:b@c\"") ==
        "curl ***@h/x  --proxy=***@h \"***@c\"");
  CHECK(with_masked_secrets("http://h,http://u:p@i http://h/http://u:p@i") ==
        "http://h,http://***@i http://h/http://***@i");
  CHECK(with_masked_secrets("curl u:p@h/?next=http://i") == "curl ***@h/?***http://i");
  CHECK(with_masked_secrets("Ann <ann@h> scp a@h:b/c /srv/x:y@z [::1]:9000 h:80") ==
        "Ann <ann@h> scp a@h:b/c /srv/x:y@z [::1]:9000 h:80");
  CHECK(with_masked_secrets("http://u@h/x?t=s#f") == "http://u@h/x?***");
  CHECK(with_masked_secrets("http://h/x?") == "http://h/x?***");
  CHECK(with_masked_secrets("curl -s https://u:p@h/x?t=s --proxy=http://t@h -v") ==
        "curl -s https://***@h/x?*** --proxy=http://***@h -v");
  CHECK(with_masked_secrets("http://") == "http://");
}

TEST_CASE("URLs are logged without credentials, query and fragment") {
  CHECK(without_secrets("/x?password=y?z") == "/x");
  CHECK(without_secrets("/x#y") == "/x");
  CHECK(without_secrets("http://h/?") == "http://h/");
  CHECK(without_secrets("http://u:p@h/x?y") == "http://h/x");
  CHECK(without_secrets("http://u:p?q@h/x?y") == "http://h/x");
  CHECK(without_secrets("/x") == "/x");
}
