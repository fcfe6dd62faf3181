#include <doctest/doctest.h>

#include <utility>

#include "quarry/artifact/structural.h"
#include "structural_cases.h"

namespace quarry::artifact {
namespace {

using namespace std::string_literals;
using test::with_end_card;

const std::string a(40, 'a');
const std::string b(40, 'b');
const std::string c(64, 'c');
const std::string kDate = "D 2020-01-02T03:04:05.678\n";
constexpr base::UnixMillis kMillis{1'577'934'245'678};

Structural parsed(const std::string& cards) {
  auto artifact = parse_structural(with_end_card(cards));
  REQUIRE(artifact);
  return std::move(*artifact);
}

TEST_CASE("all cards of a check-in are parsed") {
  const Structural it =
      parsed("C two\\swords\\nand\\\\a\\sline\n" + kDate + "F a\\sb " + a + "\nF c/d " + b +
             " x\nF e " + c + " l f\\sg\nF h " + a + " w i\nN text/plain\nP " + a + " " + b +
             "\nQ +" + a + "\nQ -" + b + " " + c + "\nR 0123456789abcdef0123456789abcdef\n" +
             "T *branch * my\\sbranch\nT +x " + c + "\nT -y *\nU joe\\sblow\n");
  CHECK(it.type == StructuralType::kCheckIn);
  CHECK_FALSE(it.is_delta_manifest());
  CHECK(it.has_comment);
  CHECK(it.comment == "two words\nand\\a line");
  CHECK(it.date == kMillis);
  CHECK(it.mimetype == "text/plain");
  CHECK(it.parents == std::vector<std::string_view>{a, b});
  CHECK(it.repository_checksum == "0123456789abcdef0123456789abcdef");
  CHECK(it.has_user);
  CHECK(it.user == "joe blow");
  CHECK(it.baseline.empty());

  CHECK(it.files ==
        std::vector<FileCard>{
            {"a b", a, "", 0}, {"c/d", b, "", 'x'}, {"e", c, "f g", 'l'}, {"h", a, "i", 0}});
  CHECK(it.cherrypicks == std::vector<CherrypickCard>{{false, a, ""}, {true, b, c}});
  CHECK(it.tags == std::vector<TagCard>{{'*', "branch", "", "my branch", true},
                                        {'+', "x", c, "", false},
                                        {'-', "y", "", "", false}});
}

TEST_CASE("the baseline and removed files of a delta manifest are parsed") {
  const Structural it = parsed("B " + c + "\nC c\n" + kDate + "F gone\nF new " + a + "\nU joe\n");
  CHECK(it.is_delta_manifest());
  CHECK(it.baseline == c);
  CHECK(it.files == std::vector<FileCard>{{"gone", "", "", 0}, {"new", a, "", 0}});
}

TEST_CASE("fossil's own files are skipped") {
  std::string cards = "C c\n" + kDate;
  for (const char* name : {".FSLCKOUT", ".fslckout", ".fslckout-shm", ".fslckoutx", "_FOSSIL_",
                           "_FOSSIL_-journal", "_FOSSIL_/a", "b/_fossil_", "f"}) {
    cards += "F "s + name + " " + a + "\n";
  }
  const Structural it = parsed(cards + "U joe\n");
  CHECK(it.files ==
        std::vector<FileCard>{{".fslckoutx", a, "", 0}, {"_FOSSIL_/a", a, "", 0}, {"f", a, "", 0}});
}

TEST_CASE("missing and empty fields are distinguished") {
  const Structural bare = parsed(kDate + "P " + a + "\n");
  CHECK_FALSE(bare.has_comment);
  CHECK_FALSE(bare.has_user);
  const Structural empty = parsed("C \n" + kDate + "T +x * \nU \n");
  CHECK(empty.has_comment);
  CHECK(empty.comment.empty());
  CHECK(empty.has_user);
  CHECK(empty.user == "anonymous");
  CHECK(empty.tags == std::vector<TagCard>{{'+', "x", "", "", true}});
}

TEST_CASE("an upper-case hash is kept as written") {
  const std::string upper(40, 'A');
  const Structural it =
      parsed("C c\n" + kDate + "F f " + upper + "\nP " + upper + " " + b + "\nU joe\n");
  CHECK(it.files[0].hash == upper);
  CHECK(it.parents == std::vector<std::string_view>{upper, b});
}

TEST_CASE("a text ends at its first NUL, escaped or not") {
  const Structural it =
      parsed("C a\\0b\n" + kDate + "F f\\0g " + a + "\nT +x\\0y * v\\0w\nU j\\0k\n");
  CHECK(it.comment == "a");
  CHECK(it.files[0].name == "f");
  CHECK(it.tags == std::vector<TagCard>{{'+', "x", "", "v", true}});
  CHECK(it.user == "j");
  CHECK(parsed(kDate + "L t\nU joe\nW 3\na\0b\n"s).text == "a");
}

TEST_CASE("the members of a cluster are parsed") {
  const Structural it = parsed("M " + a + "\nM " + b + "\nM " + c + "\n");
  CHECK(it.type == StructuralType::kCluster);
  CHECK(it.members == std::vector<std::string_view>{a, b, c});
  CHECK_FALSE(it.date);
}

TEST_CASE("the tags of a control artifact are parsed") {
  const Structural it = parsed(kDate + "T +x " + a + "\nT -y " + b + " v\nU joe\n");
  CHECK(it.type == StructuralType::kControl);
  CHECK(it.tags == std::vector<TagCard>{{'+', "x", a, "", false}, {'-', "y", b, "v", true}});
}

TEST_CASE("the title and text of a wiki page are parsed") {
  const Structural it = parsed(kDate + "L my\\spage\nN text/x-markdown\nP " + a +
                               "\nU joe\nW 13\nZ 0 \\s\nbytes\n\n");
  CHECK(it.type == StructuralType::kWiki);
  CHECK(it.wiki_title == "my page");
  CHECK(it.mimetype == "text/x-markdown");
  CHECK(it.parents == std::vector<std::string_view>{a});
  CHECK(it.has_text);
  CHECK(it.text == "Z 0 \\s\nbytes\n");
}

TEST_CASE("the fields of a ticket change are parsed") {
  const Structural it =
      parsed(kDate + "J +comment more\\stext\nJ status Open\nJ title\nK " + a + "\nU joe\n");
  CHECK(it.type == StructuralType::kTicketChange);
  CHECK(it.ticket == a);
  CHECK(it.ticket_fields == std::vector<TicketField>{{"comment", "more text", true},
                                                     {"status", "Open", false},
                                                     {"title", "", false}});
}

TEST_CASE("the file and target of an attachment are parsed") {
  const Structural it =
      parsed("A folder/my\\sfile a\\spage " + c + "\nC why\n" + kDate + "U joe\n");
  CHECK(it.type == StructuralType::kAttachment);
  REQUIRE(it.attachment);
  CHECK(it.attachment->name == "my file");
  CHECK(it.attachment->target == "a page");
  CHECK(it.attachment->source == c);
  CHECK(it.comment == "why");
  CHECK(parsed("A f page\n" + kDate).attachment->source.empty());
}

TEST_CASE("the time and id of a technote are parsed") {
  const Structural it = parsed("C c\n" + kDate + "E 2021-01-01T00:00:00 " + a +
                               "\nT +bgcolor * red\nU joe\nW 2\nhi\n");
  CHECK(it.type == StructuralType::kTechnote);
  CHECK(it.technote_id == a);
  CHECK(it.technote_date == base::UnixMillis{1'609'459'200'000});
  CHECK(it.date == kMillis);
  CHECK(it.text == "hi");
  CHECK(it.tags.size() == 1);
}

TEST_CASE("the thread of a forum post is parsed") {
  const Structural first = parsed(kDate + "H a\\stitle\nU joe\nW 2\nhi\n");
  CHECK(first.type == StructuralType::kForumPost);
  CHECK(first.thread_title == "a title");
  const Structural reply =
      parsed(kDate + "G " + a + "\nI " + b + "\nP " + c + "\nU joe\nW 2\nhi\n");
  CHECK(reply.thread_root == a);
  CHECK(reply.in_reply_to == b);
  CHECK(reply.parents == std::vector<std::string_view>{c});
}

TEST_CASE("the text inside a signature is parsed") {
  const std::string text = with_end_card("C c\n" + kDate + "F f " + a + "\nU joe\n");
  for (const std::string& content :
       {"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\n" + text +
            "-----BEGIN PGP SIGNATURE-----\n\nxyz\n",
        "-----BEGIN SSH SIGNED MESSAGE-----\n\n" + text + "-----BEGIN SSH SIGNATURE-----\nxyz\n"}) {
    const auto it = parse_structural(content);
    REQUIRE(it);
    CHECK(it->comment == "c");
    CHECK(text_without_files(content, *it).starts_with("C c\nD "));
  }
}

TEST_CASE("views outlive the bytes that were parsed, and moves") {
  std::string content = with_end_card("C short\n" + kDate + "F f " + a + "\nU joe\n");
  auto first = parse_structural(content);
  REQUIRE(first);
  content.assign(content.size(), '?');
  Structural second = std::move(*first);
  first.reset();
  std::vector<Structural> many;
  many.push_back(std::move(second));
  many.reserve(many.capacity() + 1);
  CHECK(many[0].comment == "short");
  CHECK(many[0].files[0].name == "f");
  CHECK(many[0].files[0].hash == a);
}

base::UnixMillis date_of(const std::string& text) {
  return *parsed("C c\nD " + text + "\nU joe\n").date;
}

TEST_CASE("dates are parsed as by SQLite") {
  // Expected values: SELECT CAST(round(julianday(TEXT)*86400000) AS INTEGER)-210866760000000
  CHECK(date_of("2020-01-02T03:04:05.678") == kMillis);
  CHECK(date_of("2020-01-02") == base::UnixMillis{1'577'923'200'000});
  CHECK(date_of("2020-01-02T03:04") == base::UnixMillis{1'577'934'240'000});
  CHECK(date_of("2020-01-02T03:04:05+01:30") == base::UnixMillis{1'577'928'845'000});
  CHECK(date_of("2020-01-02T03:04:05-01:30") == base::UnixMillis{1'577'939'645'000});
  CHECK(date_of("2020-02-31") == base::UnixMillis{1'583'107'200'000});
  CHECK(date_of("2020-01-02T24:59:59") == base::UnixMillis{1'578'013'199'000});
  CHECK(date_of("12:30") == base::UnixMillis{946'729'800'000});
  CHECK(date_of("2459000.25") == base::UnixMillis{1'590'796'800'000 + 64'800'000});
  CHECK(date_of("0000-03-01") == base::UnixMillis{-62'162'035'200'000});
  CHECK(date_of("-0400-02-29") == base::UnixMillis{-74'784'902'400'000});
  CHECK(date_of("1969-12-31T23:59:59.999") == base::UnixMillis{-1});
}

TEST_CASE("seconds with too many digits are parsed as by SQLite") {
  const std::string second = "2020-01-02T00:00:00.";
  CHECK(date_of(second + std::string(900, '0')) == base::UnixMillis{1'577'923'200'000});
  CHECK(date_of(second + std::string(308, '1')) == base::UnixMillis{1'577'923'200'111});
  CHECK(date_of(second + std::string(309, '1')) == base::UnixMillis{1'577'923'200'000});
  for (const std::size_t digits : {309U, 400U, 900U}) {
    CHECK_FALSE(parse_structural(
        test::with_end_card("C c\nD " + second + std::string(digits, '9') + "\nU joe\n")));
  }
}

}  // namespace
}  // namespace quarry::artifact
