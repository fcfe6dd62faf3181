#include "structural_cases.h"

#include <array>

#include "case_builder.h"
#include "quarry/artifact/digest.h"

namespace quarry::artifact::test {

using namespace std::string_literals;
using enum StructuralType;

void add_frames(Cases& cases) {
  const std::string good = with_end_card(check_in(""));
  cases.bad("a card in lower case", check_in("") + "a x\n");
  cases.bad("an unknown card", check_in("") + "X y\n");
  cases.bad("a card in the gap of the alphabet", D + "O x\n" + U);
  cases.bad("cards out of order", D + "C hello\n" + U);
  cases.bad("an empty line", check_in("") + "\n");
  cases.bad("an empty line in front", "\n" + check_in(""));
  cases.bad("a letter with neither space nor newline after it", check_in("") + "Ux\n");
  cases.raw({}, "nothing", "");
  cases.raw({}, "a newline", "\n");
  cases.raw({}, "a short line", "C a\n");
  cases.raw({}, "a text without a Z card", check_in(""));
  cases.raw({}, "a file", "int main() { return 0; }\n");
  cases.raw({}, "no newline at the end", good.substr(0, good.size() - 1));
  cases.raw({}, "an empty line after the Z card", good + "\n");
  cases.raw({}, "a changed byte", "C hallo\n" + good.substr(8));
  cases.raw({}, "a Z card in upper case", check_in("") + "Z FC21A7C22A9E7AD0D7B1B9DDB9B1A8A6\n");
  cases.raw({}, "a second argument to a Z card", good.substr(0, good.size() - 1) + " x\n");
  cases.raw({}, "a carriage return after the Z card", good.substr(0, good.size() - 1) + "\r\n");
  cases.raw(kCheckIn, "a Z card over a Z card", with_end_card(good));

  const std::string head = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\n";
  const std::string tail = "-----BEGIN PGP SIGNATURE-----\n\nxyz\n-----END PGP SIGNATURE-----\n";
  cases.raw(kCheckIn, "a signed artifact", head + good + tail);
  cases.raw(kCheckIn, "a signed artifact without armor headers",
            head.substr(0, 35) + "\n" + good + tail);
  cases.raw(kCheckIn, "a signed artifact with CRLF in its head",
            head.substr(0, 34) + "\r\nHash: SHA1\r\n\r\n" + good + tail);
  cases.raw(kCheckIn, "a signed artifact with something after it", head + good + tail + "junk\n");
  cases.raw(kCheckIn, "a head without a signature", head + good);
  cases.raw(kCheckIn, "a head that goes on", head.substr(0, 34) + "x\n\n" + good + tail);
  cases.raw({}, "a signature without a head", good + tail);
  cases.raw({}, "an empty line before the signature", head + good + "\n" + tail);
  cases.raw({}, "two signatures", head + good + tail + tail);
  cases.raw({}, "two heads", head + head + good + tail);
  cases.raw({}, "a head without an empty line", head.substr(0, 35) + good + tail);
  cases.raw({}, "a head with two empty lines", head + "\n" + good + tail);
  cases.raw({}, "a head alone", head);
  cases.raw({}, "a signed artifact without a newline at the end",
            (head + good + tail).substr(0, (head + good + tail).size() - 1));
}

constexpr auto kValidDates = std::to_array<const char*>({"2020-01-01",
                                                         "2020-01-01T00:00",
                                                         "2020-01-01T00:00:00.123",
                                                         "2020-01-01T00:00:00Z",
                                                         "2020-01-01T00:00:00+01:00",
                                                         "2020-01-01T24:00:00",
                                                         "2020-02-31T00:00:00",
                                                         "1",
                                                         "2459000.5",
                                                         "1e3",
                                                         "5373484.4",
                                                         "12:00",
                                                         "-4713-11-25T12:00:00",
                                                         "2020-01-01TT00:00:00",
                                                         "2020-01-01T",
                                                         "2020-01-01\t00:00:00",
                                                         "2020-01-01T00:00:00.1234567890",
                                                         "0000-01-01T00:00:00",
                                                         "9999-12-31T23:59:59.999",
                                                         "2020-01-01T00:00:00+14:59",
                                                         ".5",
                                                         "5.",
                                                         "+5",
                                                         "2020-01-01T00:00:00\t",
                                                         "2020-01-01T00:00:00z\t"});
constexpr auto kInvalidDates = std::to_array<const char*>({"2020-01-01T00:00:00.",
                                                           "2020-01-01T25:00:00",
                                                           "2020-01-01T00:60:00",
                                                           "2020-01-01T00:00:60",
                                                           "2020-02-32T00:00:00",
                                                           "2020-13-01T00:00:00",
                                                           "2020-00-01T00:00:00",
                                                           "0",
                                                           "-1",
                                                           "5373484.5",
                                                           "-4713-11-24T12:00:00",
                                                           "-4714-11-25T12:00:00",
                                                           "2020-01-01t00:00:00",
                                                           "2020-1-01T00:00:00",
                                                           "20200101T000000",
                                                           "2020-01-01T00:00:00junk",
                                                           "",
                                                           "9999-12-31T23:59:59.9999",
                                                           "9999-12-31T23:59:59-14:00",
                                                           "2020-01-01T00:00:00+15:00",
                                                           "\t2020-01-01",
                                                           "0x10",
                                                           "1_0",
                                                           "inf",
                                                           "nan",
                                                           "1e",
                                                           "1e5x",
                                                           "1e-300",
                                                           "1.5.5",
                                                           "+",
                                                           "-",
                                                           "++5",
                                                           "tomorrow"});

void add_dates(Cases& cases) {
  for (const char* date : kValidDates) {
    cases.good(kCheckIn, "the date "s + date, "C hello\nD "s + date + "\n" + U);
  }
  for (const char* date : kInvalidDates) {
    cases.bad("the date "s + date, "C hello\nD "s + date + "\n" + U);
  }
  const std::string second = "2020-01-01T00:00:00.";
  cases.good(kCheckIn, "a second of 309 digits",
             "C hello\nD " + second + std::string(309, '1') + "\n" + U);
  cases.bad("a second of 400 digits", "C hello\nD " + second + std::string(400, '9') + "\n" + U);
  cases.bad("a date card without an argument", "C hello\nD\n" + U);
  cases.bad("a date of two arguments", "C hello\nD 2020-01-01 00:00:00\n" + U);
}

std::string with_end_card(std::string_view text) {
  return std::string(text) + "Z " + md5_hex(text) + "\n";
}

std::vector<StructuralCase> structural_cases() {
  Cases cases;
  add_check_ins(cases);
  add_hashes(cases);
  add_files(cases);
  add_tags(cases);
  add_clusters(cases);
  add_wiki_pages(cases);
  add_tickets(cases);
  add_attachments(cases);
  add_technotes(cases);
  add_forum_posts(cases);
  add_frames(cases);
  add_dates(cases);
  return cases.take();
}

}  // namespace quarry::artifact::test
