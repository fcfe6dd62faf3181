#include "quarry/http/request_id.h"

#include <doctest/doctest.h>

#include <string>

using quarry::http::kMaxRequestId;
using quarry::http::request_id_from;

TEST_CASE("a valid id is kept, and any other id is replaced") {
  for (const std::string& id : {std::string("a"), std::string(kMaxRequestId, 'x'),
                                std::string("0af7651916cd43dd8448eb211c80319c"),
                                std::string("1-67891233-abcdef/0:9_.+=@")}) {
    CHECK(request_id_from(id) == id);
  }
  for (const std::string& id :
       {std::string(), std::string(kMaxRequestId + 1, 'x'), std::string("a b"), std::string("a\n"),
        std::string("a\0b", 3), std::string("\xc3\xa9"), std::string("a]"), std::string("\"")}) {
    const std::string made = request_id_from(id);
    CHECK(made.size() == 32);
    CHECK(made.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(made != request_id_from(id));
  }
}
