#include "case_builder.h"

namespace quarry::artifact::test {

using namespace std::string_literals;
using enum StructuralType;

void add_wiki_pages(Cases& cases) {
  const auto wiki = [](const std::string& title, const std::string& text) {
    return D + "L " + title + "\n" + U + text;
  };
  cases.good(kWiki, "a wiki page", wiki("title", "W 5\nhello\n"));
  cases.good(kWiki, "an empty wiki page", wiki("title", "W 0\n\n"));
  cases.good(kWiki, "a text with newlines and a NUL", wiki("title", "W 6\nh\n\nl\0\n\n"s));
  cases.good(kWiki, "a wiki page with every card",
             "C c\n" + D + "L title\nN text/plain\nP " + a + " " + b + "\n" + U + "W 0\n\n");
  cases.good(kWiki, "a size with a leading zero", wiki("title", "W 05\nhello\n"));
  cases.good(kWiki, "a size with something after it", wiki("title", "W 5x\nhello\n"));
  cases.good(kWiki, "a size without a digit", wiki("title", "W \n\n"));
  cases.bad("a wiki page without a user", D + "L title\nW 0\n\n");
  cases.bad("a wiki page without a title", D + U + "W 0\n\n");
  cases.bad("a wiki page without a text", wiki("title", ""));
  cases.bad("a text that is longer than its size", wiki("title", "W 4\nhello\n"));
  cases.bad("a text that is shorter than its size", wiki("title", "W 6\nhello\n"));
  cases.bad("a text that would reach beyond the artifact", wiki("title", "W 4000\nhello\n"));
  cases.bad("a size of 2^32", wiki("title", "W 4294967296\nhello\n"));
  cases.bad("a size of 2^64", wiki("title", "W 18446744073709551616\n\n"));
  cases.bad("a second argument to a W card", wiki("title", "W 5 5\nhello\n"));
  cases.bad("a W card without a size", wiki("title", "W\n\n"));
  cases.bad("two texts", wiki("title", "W 0\n\nW 0\n\n"));
  cases.bad("two titles", wiki("title\nL title", "W 0\n\n"));
  cases.bad("a wiki page with a tag", D + "L title\nT +x *\n" + U + "W 0\n\n");
  for (const std::string& title : {"a\\sb"s, "\xff"s, "\x7f"s, "\xc2\xa0"s, "a\\0 b"s.erase(3, 1),
                                   std::string(100, 'x'), "a"s}) {
    cases.good(kWiki, "the title " + title, wiki(title, "W 0\n\n"));
  }
  for (const std::string& title : {""s, "\\sa"s, "a\\s"s, "a\\s\\sb"s, "a\\tb"s, "a\\nb"s, "a\tb"s,
                                   "\\0"s, std::string(101, 'x')}) {
    cases.bad("the title " + title, wiki(title, "W 0\n\n"));
  }
}

void add_tickets(Cases& cases) {
  const auto ticket = [](const std::string& fields) { return D + fields + "K " + a + "\n" + U; };
  cases.good(kTicketChange, "a ticket change", ticket("J a b\n"));
  cases.good(kTicketChange, "a field without a value", ticket("J a\n"));
  cases.good(kTicketChange, "a field with an empty name", ticket("J  b\n"));
  cases.good(kTicketChange, "a field that is appended to", ticket("J +a b\nJ a c\n"));
  cases.good(kTicketChange, "fields in the order of their bytes", ticket("J B 1\nJ a 2\n"));
  cases.good(kTicketChange, "field names are compared as written", ticket("J a!b c\nJ a\\sz b\n"));
  cases.good(kTicketChange, "a ticket id in upper case", D + "J a b\nK " + upper + "\n" + U);
  cases.bad("field names out of order as written", ticket("J a\\sz b\nJ a!b c\n"));
  cases.bad("a field twice", ticket("J a b\nJ a c\n"));
  cases.bad("fields out of order", ticket("J b b\nJ a c\n"));
  cases.bad("a field with a third argument", ticket("J a b c\n"));
  cases.bad("a field card without arguments", ticket("J\n"));
  cases.bad("a ticket change without a field", ticket(""));
  cases.bad("a ticket change without a ticket", D + "J a b\n" + U);
  cases.bad("a ticket change without a user", D + "J a b\nK " + a + "\n");
  cases.bad("a ticket id of 64 digits", D + "J a b\nK " + c64 + "\n" + U);
  cases.bad("two ticket ids", ticket("J a b\nK " + a + "\n"));
  cases.bad("a ticket change with a comment", "C c\n" + ticket("J a b\n"));
  cases.bad("files in a ticket change", D + "F f " + a + "\nJ a b\nK " + a + "\n" + U);
}

void add_attachments(Cases& cases) {
  const auto attachment = [](const std::string& card) { return "A " + card + "\n" + D + U; };
  cases.good(kAttachment, "an attachment", attachment("f page " + a));
  cases.good(kAttachment, "an attachment to a ticket", attachment("f " + a + " " + b));
  cases.good(kAttachment, "a removed attachment", attachment("f page"));
  cases.good(kAttachment, "an attachment with every card",
             "A f page " + a + "\nC c\n" + D + "N text/plain\n" + U);
  cases.good(kAttachment, "an attachment without a user", "A f page " + a + "\n" + D);
  cases.good(kAttachment, "an attachment to a page with a space", attachment("f my\\spage " + a));
  cases.good(kAttachment, "an attachment from a folder", attachment("d/f page " + a));
  cases.bad("an attachment to nothing", attachment("f"));
  cases.bad("an attachment with an empty source", attachment("f page "));
  cases.bad("an attachment with a wrong source", attachment("f page abc"));
  cases.bad("an attachment whose name climbs", attachment("../f page " + a));
  cases.bad("an attachment with a fourth argument", attachment("f page " + a + " x"));
  cases.bad("two attachments", attachment("f page " + a + "\nA g page " + a));
  cases.bad("an attachment to a page with a wrong name", attachment("f \\spage " + a));
  cases.bad("an attachment without a date", "A f page " + a + "\n" + U);
  cases.bad("a tagged attachment", "A f page " + a + "\n" + D + "T +x *\n" + U);
}

void add_technotes(Cases& cases) {
  const std::string E = "E 2020-01-02T03:04:05 " + a + "\n";
  const auto technote = [&](const std::string& cards) { return D + E + cards + U + "W 0\n\n"; };
  cases.good(kTechnote, "a technote", technote(""));
  cases.good(kTechnote, "a technote with every card",
             "C c\n" + D + E + "N x\nP " + a + "\nT +x *\n" + U + "W 0\n\n");
  cases.good(kTechnote, "a technote without a user", D + E + "W 0\n\n");
  cases.good(kTechnote, "a technote with N after P", technote("P " + a + "\nN x\n"));
  cases.good(kTechnote, "a technote with P after N after P",
             technote("P " + a + "\nN x\nP " + b + "\nT +x *\n"));
  cases.good(kTechnote, "a technote id of 64 digits",
             D + "E 2020-01-02T03:04:05 " + c64 + "\n" + U + "W 0\n\n");
  cases.bad("a technote without a text", D + E + U);
  cases.bad("a technote with N after T", technote("T +x *\nN x\n"));
  cases.bad("a technote with P after T", technote("T +x *\nP " + a + "\n"));
  cases.bad("a check-in with N after P", check_in("P " + a + "\nN x\n"));
  cases.bad("a technote with a spreading tag", technote("T *x *\n"));
  cases.bad("a technote with a cancelled tag", technote("T -x *\n"));
  cases.bad("a technote that tags another", technote("T +x " + a + "\n"));
  cases.bad("a technote without an id", D + "E 2020-01-02T03:04:05\n" + U + "W 0\n\n");
  cases.bad("a technote with a wrong id", D + "E 2020-01-02T03:04:05 abc\n" + U + "W 0\n\n");
  cases.bad("a technote with a wrong time", D + "E yesterday " + a + "\n" + U + "W 0\n\n");
  cases.bad("two E cards", technote(E));
  cases.bad("a technote with a wiki title", technote("L title\n"));
}

void add_forum_posts(Cases& cases) {
  const auto post = [](const std::string& cards) { return D + cards + U + "W 0\n\n"; };
  cases.good(kForumPost, "the first post of a thread", post("H title\n"));
  cases.good(kForumPost, "a reply", post("G " + a + "\nI " + b + "\n"));
  cases.good(kForumPost, "a reply without a root", post("I " + a + "\n"));
  cases.good(kForumPost, "a post with a root alone", post("G " + c64 + "\n"));
  cases.good(kForumPost, "a root and a title", post("G " + a + "\nH title\n"));
  cases.good(kForumPost, "an edited post", post("H title\nN text/plain\nP " + a + "\n"));
  cases.good(kForumPost, "an empty title", post("H \n"));
  cases.good(kForumPost, "an empty P card", post("H title\nP\n"));
  cases.bad("a post with neither title nor root", post(""));
  cases.bad("a reply with a title", post("H title\nI " + a + "\n"));
  cases.bad("a post with two priors", post("H title\nP " + a + " " + b + "\n"));
  cases.bad("a post with two priors in two cards", post("H title\nP " + a + "\nP " + b + "\n"));
  cases.bad("a post without a user", D + "H title\nW 0\n\n");
  cases.bad("a post without a text", D + "H title\n" + U);
  cases.bad("a post with a tag", post("H title\nT +x *\n"));
  cases.bad("two titles of a thread", post("H a\nH b\n"));
  cases.bad("a title card without an argument", post("H\n"));
  cases.bad("a root that is no name", post("G abc\n"));
  cases.bad("a post with a comment", "C c\n" + post("H title\n"));
}

}  // namespace quarry::artifact::test
