// Tests signatures and the files that contain secrets.
#include <doctest/doctest.h>

#include <fstream>

#include "../temporary_folder.h"
#include "senders.h"

using namespace quarry;
using namespace quarry::courier;

TEST_CASE("signatures are those of RFC 4231") {
  CHECK(signature_of(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(signature_of("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(signature_of(std::string(131, '\xaa'),
                     "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("a secret is the first line of its file") {
  const TemporaryFolder folder;
  const std::string path = folder / "secret";
  const auto read = [&](const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
    return read_secret(path);
  };
  CHECK(read("hush").value() == "hush");
  CHECK(read("hush\n").value() == "hush");
  CHECK(read(" h u \r\nmore\n").value() == " h u ");
  CHECK_FALSE(read(""));
  CHECK_FALSE(read("\nhush"));
  CHECK_FALSE(read(std::string(5000, 'x')));
  const auto none = read_secret(folder / "none");
  REQUIRE_FALSE(none);
  CHECK(none.error().message.find("none") != std::string::npos);
}

TEST_CASE("only a status that rejects the request itself is final") {
  for (const long status : {400L, 410L, 413L, 415L, 422L}) CHECK(is_final_status(status));
  for (const long status : {301L, 401L, 403L, 404L, 408L, 425L, 429L, 500L, 503L}) {
    CHECK_FALSE(is_final_status(status));
  }
}
