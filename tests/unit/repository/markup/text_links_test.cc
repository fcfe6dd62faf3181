#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <span>

#include "markup/text_links.h"
#include "temporary_folder.h"

using namespace quarry;
using namespace quarry::repository;

namespace {

using LinkSet = std::set<std::string>;

LinkSet links_in(std::string_view text, Markup markup) {
  const auto links = text_links(text, markup);
  return {links.begin(), links.end()};
}

std::string joined(const LinkSet& links) {
  std::string text;
  for (const std::string& link : links) text += link + " ";
  return text;
}

/// Returns the links that fossil finds in TEXT.
LinkSet fossils_links(const TemporaryFolder& folder, const std::string& text,
                      const std::string& options) {
  std::ofstream(folder / "text", std::ios::binary) << text;
  const std::string home = (folder / "").string();
  const std::string command = "cd '" + home + "' && HOME='" + home +
                              "' USER=ann fossil test-backlinks " + options +
                              " text >out 2>/dev/null </dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
  std::ifstream out(folder / "out");
  LinkSet links;
  for (std::string line; std::getline(out, line);) {
    const std::size_t begin = line.find('\'') + 1;
    links.insert(line.substr(begin, line.find('\'', begin) - begin));
  }
  return links;
}

/// Returns a text of random PIECES. Each '@' is replaced with a new artifact name.
std::string random_text(std::mt19937& random, std::span<const char* const> pieces) {
  std::string text;
  int number = 0;
  for (auto count = 3 + random() % 30; count > 0; --count) {
    for (const char* c = pieces[random() % pieces.size()]; *c != '\0'; ++c) {
      if (*c != '@') {
        text += *c;
        continue;
      }
      char name[16];
      std::snprintf(name, sizeof name, "abcd%04x", ++number);
      text += name;
    }
  }
  return text;
}

void compare(std::span<const char* const> pieces, Markup markup, const std::string& options) {
  const char* cases = std::getenv("QUARRY_TEST_CASES");
  const char* first = std::getenv("QUARRY_TEST_SEED");
  const int count = cases != nullptr ? std::atoi(cases) : 150;
  const int start = first != nullptr ? std::atoi(first) : 1;
  const TemporaryFolder folder;
  for (int seed = start; seed < start + count; ++seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const std::string text = random_text(random, pieces);
    CAPTURE(seed);
    CAPTURE(text);
    CHECK(joined(links_in(text, markup)) == joined(fossils_links(folder, text, options)));
  }
}

// Table cells with an unclosed backtick are excluded, because fossil then continues to read after
// the row.
constexpr auto kMarkdown =
    std::to_array<const char*>({"[x](@)",
                                "[x](/info/@)",
                                "[@]",
                                "[x][]",
                                "[x][@]",
                                "\n[x]: @\n",
                                "\n[y z]: <@> \"title\"\n",
                                "[y  z]",
                                "[a [b](@) c](@)",
                                "![i](@)",
                                "`",
                                "``",
                                "\n```\n",
                                "\n    [c](@)\n",
                                "\n\t[c](@)\n",
                                "*",
                                "**",
                                "***",
                                "_",
                                "__",
                                " ",
                                "\n",
                                "\n\n",
                                "\n\n\n",
                                "text",
                                "a word ",
                                "\n> ",
                                "\n>> ",
                                "\n* ",
                                "\n- ",
                                "\n  + ",
                                "\n1. ",
                                "\n    2. ",
                                "\n# ",
                                "\n## head ##\n",
                                "\n===\n",
                                "\n---\n",
                                "\n***\n",
                                "|",
                                "\n| a | [t](@) |\n|---|---|\n| b | [u](@) |\n",
                                "\\",
                                "\\[",
                                "<b>",
                                "</b>",
                                "<div>",
                                "</div>",
                                "\n<div>\n",
                                "\n</div>\n\n",
                                "<p>",
                                "</p>\n\n",
                                "<!-- ",
                                " -->\n",
                                "<hr>\n",
                                "<http://x/[y](@)>",
                                "<a@b>",
                                "&amp;",
                                "[x](@ \"t\")",
                                "[x](@ 't)",
                                "[x](<@>)",
                                "[x](a\\@)",
                                "[x]\n(@)",
                                "(",
                                ")",
                                "[",
                                "]",
                                "!",
                                "^",
                                "[^n]",
                                "\n[^n]: [f](@)\n",
                                "(^note [g](@))",
                                "[x](^note [h](@))",
                                "\r\n",
                                "<script>",
                                "</script>\n\n",
                                ":",
                                "~~~\n",
                                "\n|a|b|\n|--|:-|\n",
                                "|",
                                "`|",
                                "``",
                                "**",
                                "_",
                                "\n~~~\n"});

constexpr auto kWiki = std::to_array<const char*>({"[@]",
                                                   "[/info/@|x]",
                                                   "[@ |x]",
                                                   "[@|",
                                                   "]",
                                                   "[",
                                                   "\n",
                                                   "\n\n",
                                                   "  *  ",
                                                   "\n  *  ",
                                                   "\n  1.  ",
                                                   " ",
                                                   "text",
                                                   "<verbatim>",
                                                   "</verbatim>",
                                                   "<nowiki>",
                                                   "</nowiki>",
                                                   "<b>",
                                                   "</b>",
                                                   "<a href='@'>",
                                                   "</a>",
                                                   "<div>",
                                                   "</div>",
                                                   "<div id='x'>",
                                                   "</div id='x'>",
                                                   "<verbatim type='x'>",
                                                   "<",
                                                   ">",
                                                   "&",
                                                   "&lt;",
                                                   "<!--",
                                                   "-->",
                                                   "<nosuch>",
                                                   "<p>",
                                                   "</p>",
                                                   "<pre>",
                                                   "</pre>",
                                                   "<table><tr><td>",
                                                   "'",
                                                   "\"",
                                                   "<h1>",
                                                   "</h1>",
                                                   "<verbatim id=y>",
                                                   "</verbatim id=y>",
                                                   "<script>",
                                                   "\t",
                                                   "\n   "});

}  // namespace

TEST_CASE("the links in Markdown are the same as fossil's") {
  compare(kMarkdown, Markup::kMarkdown, "--mimetype text/x-markdown 2 1");
}

TEST_CASE("the links in wiki text are the same as fossil's") {
  compare(kWiki, Markup::kWiki, "2 1");
}

TEST_CASE("the links in a comment are the same as fossil's") {
  compare(kWiki, Markup::kWiki, "0 1");
}

TEST_CASE("a bar in a code span does not separate cells, and emphasis begins at a word boundary") {
  const auto links = [](std::string_view text) { return links_in(text, Markup::kMarkdown).size(); };
  CHECK(links("|a|b|\n|--|--|\n|`[x](abcd1234)|`|c|\n") == 0);
  CHECK(links("|a|b|\n|--|--|\n|`[x](abcd1234)|c|\n") == 1);
  CHECK(links("``\n[z]``[q|u](abcd1234)\n") == 0);
  CHECK(links("```|[x](abcd1234)|\n|--|--|\n```|a\n") == 1);
  CHECK(links("a*[q*u](abcd1234)*") == 1);
  CHECK(links("a *[q*u](abcd1234)*") == 0);
}

TEST_CASE("the mimetype selects the markup") {
  CHECK(markup_of(std::nullopt) == Markup::kWiki);
  CHECK(markup_of("text/x-fossil-wiki") == Markup::kWiki);
  CHECK(markup_of("text/x-markdown") == Markup::kMarkdown);
  CHECK(markup_of("text/plain") == Markup::kOther);
  CHECK(markup_of("") == Markup::kOther);
  CHECK(links_in("[abcd1234]", Markup::kOther).empty());
}

TEST_CASE("hostile texts take neither much time nor a deep stack") {
  const auto many = [](std::string_view piece) {
    std::string text;
    while (text.size() < 1 << 20) text += piece;
    return text;
  };
  for (const std::string_view piece : {"[",           "![",
                                       "*",           "*a ",
                                       "_a*b",        "`",
                                       "``a",         ">",
                                       "> ",          "* ",
                                       "*a [",        "\n* \n",
                                       "<div>\n",     "<!--",
                                       "[a](",        "[a][",
                                       "***a** ",     "\\",
                                       "|",           "\n [",
                                       "[a]: b\n",    "[a",
                                       "1. ",         "**a [b](c*",
                                       "<a ",         "<a \"",
                                       "<verbatim><", "[^",
                                       "|`` ` ",      "```\n|",
                                       "[x](^",       "(^",
                                       "[^n]: x\n",   "[^n]: [^n]\n  [^m]"}) {
    CAPTURE(piece);
    const std::clock_t start = std::clock();
    links_in(many(piece), Markup::kMarkdown);
    links_in(many(piece), Markup::kWiki);
    // Measures processor time, which does not depend on other programs. A quadratic parser would
    // take minutes.
    CHECK((std::clock() - start) / CLOCKS_PER_SEC < 60);
  }
}
