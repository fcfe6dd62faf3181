#include "comment_links.h"

#include <doctest/doctest.h>

using quarry::repository::comment_links;
using Links = std::vector<std::string>;

// Each answer is the one that fossil 2.21 gives in its backlink table for a check-in comment.
TEST_CASE("a comment links to what stands in brackets and may be an artifact's name") {
  CHECK(comment_links("see [abcdef12]") == Links{"abcdef12"});
  CHECK(comment_links("see [ABCDEF12]") == Links{"abcdef12"});
  CHECK(comment_links("[abcd]") == Links{"abcd"});
  CHECK(comment_links("[abcdef | text]") == Links{"abcdef"});
  CHECK(comment_links("[abcdef|te]xt]") == Links{"abcdef"});
  CHECK(comment_links("[/info/abcdef12|x]") == Links{"abcdef12"});
  CHECK(comment_links("[a]b[abcdef][beefbeef|") == Links{"abcdef"});
  CHECK(comment_links("[abcdef]]") == Links{"abcdef"});
  CHECK(comment_links(std::string("[") + std::string(64, 'a') + "]") ==
        Links{std::string(64, 'a')});
}

TEST_CASE("what is too short, too long, unclosed or no hex is no link") {
  for (const char* comment :
       {"[abc]", "[abcdg]", "[[abcdef]]", " [ abcdef ]", "[x|abcdef]", "[|abcdef]", "[abcdef",
        "x[y [abcdef]]", "[abcdef\n|x]", "[2020-01-01]", "[/artifact/abcdef]", "[wiki:abcdef]"}) {
    CAPTURE(comment);
    CHECK(comment_links(comment).empty());
  }
  CHECK(comment_links(std::string("[") + std::string(65, 'a') + "]").empty());
}

TEST_CASE("markup hides links in its attributes and in verbatim text, and unknown markup is text") {
  CHECK(comment_links("<b>[abcdef]</b>") == Links{"abcdef"});
  CHECK(comment_links("<b title=\"[abcdef]\">").empty());
  CHECK(comment_links("<verbatim>[abcdef]</verbatim>[beef]") == Links{"beef"});
  CHECK(comment_links("<VERBATIM>[abcdef]").empty());
  CHECK(comment_links("<nowiki/>[abcdef]").empty());
  CHECK(comment_links("<x [abcdef]>") == Links{"abcdef"});
  CHECK(comment_links("<b[abcdef]>") == Links{"abcdef"});
  CHECK(comment_links("a<b [abcdef]") == Links{"abcdef"});
  CHECK(comment_links("a<b [abcdef]>").empty());
}
