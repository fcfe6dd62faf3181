#include <doctest/doctest.h>

#include "markup/text_links.h"

using quarry::repository::wiki_links;
using Links = std::vector<std::string>;

// The expected results come from the backlink table of fossil 2.21.
TEST_CASE("a comment links to text in brackets that may be an artifact name") {
  CHECK(wiki_links("see [abcdef12]") == Links{"abcdef12"});
  CHECK(wiki_links("see [ABCDEF12]") == Links{"abcdef12"});
  CHECK(wiki_links("[abcd]") == Links{"abcd"});
  CHECK(wiki_links("[abcdef | text]") == Links{"abcdef"});
  CHECK(wiki_links("[abcdef|te]xt]") == Links{"abcdef"});
  CHECK(wiki_links("[/info/abcdef12|x]") == Links{"abcdef12"});
  CHECK(wiki_links("[a]b[abcdef][beefbeef|") == Links{"abcdef"});
  CHECK(wiki_links("[abcdef]]") == Links{"abcdef"});
  CHECK(wiki_links(std::string("[") + std::string(64, 'a') + "]") == Links{std::string(64, 'a')});
}

TEST_CASE("text that is too short, too long, unclosed or not hex is not a link") {
  for (const char* comment :
       {"[abc]", "[abcdg]", "[[abcdef]]", " [ abcdef ]", "[x|abcdef]", "[|abcdef]", "[abcdef",
        "x[y [abcdef]]", "[abcdef\n|x]", "[2020-01-01]", "[/artifact/abcdef]", "[wiki:abcdef]"}) {
    CAPTURE(comment);
    CHECK(wiki_links(comment).empty());
  }
  CHECK(wiki_links(std::string("[") + std::string(65, 'a') + "]").empty());
}

TEST_CASE("markup hides links in its attributes and in verbatim text, and unknown markup is text") {
  CHECK(wiki_links("<b>[abcdef]</b>") == Links{"abcdef"});
  CHECK(wiki_links("<b title=\"[abcdef]\">").empty());
  CHECK(wiki_links("<verbatim>[abcdef]</verbatim>[beef]") == Links{"beef"});
  CHECK(wiki_links("<VERBATIM>[abcdef]").empty());
  CHECK(wiki_links("<nowiki/>[abcdef]").empty());
  CHECK(wiki_links("<x [abcdef]>") == Links{"abcdef"});
  CHECK(wiki_links("<b[abcdef]>") == Links{"abcdef"});
  CHECK(wiki_links("a<b [abcdef]") == Links{"abcdef"});
  CHECK(wiki_links("a<b [abcdef]>").empty());
}
