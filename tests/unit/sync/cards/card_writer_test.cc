#include "cards/card_writer.h"

#include <doctest/doctest.h>

#include "cards/card_reader.h"

using namespace quarry::sync;

TEST_CASE("texts for users are one word each") {
  CardWriter writer;
  writer.message("pull only - not authorized to push");
  writer.error("bad command: a\\b\n");
  CHECK(writer.take() ==
        "message pull\\sonly\\s-\\snot\\sauthorized\\sto\\spush\n"
        "error bad\\scommand:\\sa\\\\b\\n\n");
}

TEST_CASE("names and codes are written unchanged") {
  CardWriter writer;
  writer.server_version();
  writer.igot("aa");
  writer.igot("bb", true);
  writer.gimme("cc");
  writer.push("server", "project");
  writer.card({"clone_seqno", "42", ""});
  writer.private_next();
  writer.timestamp({1000}, 1);
  CHECK(writer.take() ==
        "pragma server-version 22900 20260312 000000\n"
        "igot aa\nigot bb 1\ngimme cc\npush server project\nclone_seqno 42\nprivate\n"
        "# timestamp 1970-01-01T00:00:01 errors 1\n");
}

TEST_CASE("a name with blanks neither ends its card nor becomes two words") {
  CardWriter writer;
  writer.card({"cookie", "a\nconfig /user 3"});
  writer.uvfile_deleted("b c\r", 5);
  writer.push("d\\e", std::string_view("f\0g", 3));
  CHECK(writer.take() ==
        "cookie a\\nconfig\\s/user\\s3\n"
        "uvfile b\\sc\\r 5 - 0 1\n"
        "push d\\e f\\0g\n");
}

TEST_CASE("a file is its card and its bytes, directly followed by the next card") {
  CardWriter writer;
  writer.file("aa", "", "abc");
  writer.file("bb", "aa", "");
  CHECK(writer.take() == "file aa 3\nabcfile bb aa 0\n");
}

TEST_CASE("a cfile is followed by a newline unless its bytes end in one") {
  CardWriter writer;
  writer.cfile("aa", "", 10, 3);
  writer.payload() += "xyz";
  writer.end_cfile();
  writer.cfile("bb", "aa", 11, 2);
  writer.payload() += "x\n";
  writer.end_cfile();
  CHECK(writer.take() == "cfile aa 10 3\nxyz\ncfile bb aa 11 2\nx\n");
}
