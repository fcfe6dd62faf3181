#include "case_builder.h"

namespace quarry::artifact::test {

using namespace std::string_literals;
using enum StructuralType;

void add_check_ins(Cases& cases) {
  cases.good(kCheckIn, "the smallest check-in", check_in(""));
  cases.good(kCheckIn, "a check-in with every card",
             "B " + a + "\nC hello\n" + D + "F f " + a + "\nN text/plain\nP " + a + "\nQ +" + a +
                 "\nR " + md5 + "\nT +x *\n" + U);
  cases.good(kCheckIn, "no comment, but a file", D + "F f " + a + "\n" + U);
  cases.good(kCheckIn, "no comment, but a parent", D + "P " + a + "\n" + U);
  cases.good(kCheckIn, "no comment, but a checksum of files", D + "R " + md5 + "\n" + U);
  cases.good(kCheckIn, "no user", "C hello\n" + D);
  cases.good(kCheckIn, "a user card without a name", "C hello\n" + D + "U\n");
  cases.good(kCheckIn, "a user card with an empty name", "C hello\n" + D + "U \n");
  cases.good(kCheckIn, "an empty comment", "C \n" + D + U);
  cases.good(kCheckIn, "a comment with bytes that are no UTF-8", "C a\xff\tb\r\n" + D + U);
  cases.bad("no date", "C hello\n" + U);
  cases.bad("nothing but date and user", D + U);
  cases.bad("no comment, and a P card without parents", D + "P\n" + U);
  cases.bad("a comment card without an argument", "C\n" + D + U);
  cases.bad("a comment of two arguments", "C a b\n" + D + U);
  cases.bad("a space at the end of a card", "C a \n" + D + U);
  cases.bad("two spaces", "C  a\n" + D + U);
  cases.bad("a NUL in a comment", "C a\0b\n"s + D + U);
  cases.bad("two comments", "C a\nC b\n" + D + U);
  cases.bad("two dates", check_in(D));
  cases.bad("two users", check_in("U jim\n"));
  cases.bad("two baselines", "B " + a + "\nB " + a + "\n" + check_in(""));
  cases.bad("two mimetypes", check_in("N a\nN b\n"));
  cases.bad("two checksums of files", check_in("R " + md5 + "\nR " + md5 + "\n"));
  cases.bad("a mimetype card without an argument", check_in("N\n"));
  cases.bad("a short checksum of files", check_in("R " + md5.substr(1) + "\n"));
  cases.bad("a checksum of files that is no hex", check_in("R " + md5.substr(1) + "g\n"));
}

void add_hashes(Cases& cases) {
  cases.good(kCheckIn, "two parents", check_in("P " + a + " " + c64 + "\n"));
  cases.good(kCheckIn, "the same parent twice", check_in("P " + a + " " + a + "\n"));
  cases.good(kCheckIn, "two P cards", check_in("P " + a + "\nP " + b + "\n"));
  cases.good(kCheckIn, "a P card without parents", check_in("P\n"));
  cases.good(kCheckIn, "a parent in upper case", check_in("P " + upper + "\n"));
  cases.good(kCheckIn, "a NUL between parents", check_in("P " + a + '\0' + b + "\n"));
  cases.bad("an empty parent", check_in("P \n"));
  cases.bad("two spaces between parents", check_in("P " + a + "  " + b + "\n"));
  cases.bad("a parent of 41 digits", check_in("P " + a + "a\n"));
  cases.bad("a parent of 39 digits", check_in("P " + a.substr(1) + "\n"));
  cases.bad("a parent that is no hex", check_in("P " + a.substr(1) + "g\n"));
  cases.bad("a NUL at the end of a card", check_in("P " + a + "\0\n"s));
  cases.good(kCheckIn, "a cherry-pick", check_in("Q +" + a + "\n"));
  cases.good(kCheckIn, "a backed out range", check_in("Q -" + a + " " + b + "\n"));
  cases.good(kCheckIn, "cherry-picks in any order", check_in("Q +" + b + "\nQ +" + a + "\n"));
  cases.bad("a cherry-pick without a sign", check_in("Q " + a + "\n"));
  cases.bad("a cherry-pick of nothing", check_in("Q +\n"));
  cases.bad("a cherry-pick with an empty baseline", check_in("Q +" + a + " \n"));
  cases.bad("a cherry-pick with a third argument", check_in("Q +" + a + " " + a + " " + a + "\n"));
  cases.bad("a cherry-pick without arguments", check_in("Q\n"));
}

void add_files(Cases& cases) {
  const auto file = [](const std::string& card) { return check_in("F " + card + "\n"); };
  const auto delta = [&](const std::string& card) { return "B " + a + "\n" + file(card); };
  cases.good(kCheckIn, "an executable file", file("f " + a + " x"));
  cases.good(kCheckIn, "unknown permissions", file("f " + a + " wzx"));
  cases.good(kCheckIn, "empty permissions", file("f " + a + " "));
  cases.good(kCheckIn, "a renamed file", file("f " + a + " w g"));
  cases.good(kCheckIn, "a NUL between name and hash", file("f\0"s + a));
  cases.good(kCheckIn, "a removed file in a delta manifest", delta("f"));
  cases.good(kCheckIn, "a delta manifest without files", "B " + a + "\n" + check_in(""));
  cases.bad("a removed file in a baseline manifest", file("f"));
  cases.bad("an F card without arguments", check_in("F\n"));
  cases.bad("an empty hash in a delta manifest", delta("f "));
  cases.bad("a fifth argument to an F card", file("f " + a + " w g h"));
  cases.bad("an empty old name", file("f " + a + " w "));
  cases.bad("an old name that climbs", file("f " + a + " w ../g"));
  cases.bad("files out of order", file("g " + a + "\nF f " + a));
  cases.bad("a file twice", file("f " + a + "\nF f " + a));
  cases.good(kCheckIn, "files in the order of their bytes",
             file("B " + a + "\nF b " + a + "\nF \xc3\xa9 " + a));
  cases.bad("files that are not in the order of their bytes", file("\xc3\xa9 " + a + "\nF b " + a));
  cases.bad("files that are out of order once unescaped", file("a!b " + a + "\nF a\\sb " + a));
  cases.bad("names that are the same up to a NUL", file("a\\0b " + a + "\nF a\\0c " + a));
  cases.good(kCheckIn, "fossil's own file twice", file("_FOSSIL_ " + a + "\nF _FOSSIL_ " + a));
  cases.good(kCheckIn, "fossil's own file in a folder, twice, in any case",
             file("a/.fslCKOUT-wal " + a + "\nF a/.fslCKOUT-wal " + a));
  cases.bad("fossil's own file out of order", file("b " + a + "\nF _FOSSIL_ " + a));
  cases.bad("fossil's own file without a hash", file("_FOSSIL_"));
  cases.bad("fossil's own file alone, without a comment", D + "F _FOSSIL_ " + a + "\n" + U);
  cases.bad("nearly fossil's own file twice", file("_FOSSIL_x " + a + "\nF _FOSSIL_x " + a));
  for (const char* name : {"a/b", "...", ".a", "a..", "a\\\\b", "a\\nb", "a\\sb", "a\\0b", "a\\",
                           "\xff", "\xc0\x80", "\xed\xa0\x80", "C:\\\\a", "a*?b", "-a", "a\tb"}) {
    cases.good(kCheckIn, "the file name "s + name, file(name + (" " + a)));
    cases.good(kCheckIn, "the old name "s + name, file("f " + a + " w " + name));
  }
  for (const char* name : {"/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/./b", "../a", "a/..",
                           "a/../b", "", "/", "\\0", "a/\\0b"}) {
    cases.bad("the file name "s + name, file(name + (" " + a)));
    cases.bad("the old name "s + name, file("f " + a + " w " + name));
  }
}

void add_tags(Cases& cases) {
  const auto tag = [](const std::string& card) { return check_in("T " + card + "\n"); };
  cases.good(kCheckIn, "a tag on itself", tag("+x *"));
  cases.good(kCheckIn, "a tag with a value", tag("*x * value"));
  cases.good(kCheckIn, "a tag with an empty value", tag("+x * "));
  cases.good(kCheckIn, "a check-in that tags another", tag("+x " + a));
  cases.good(kCheckIn, "a tag on itself before the same on another", tag("+x *\nT +x " + a));
  cases.good(kCheckIn, "tags in order", tag("*y *\nT +y *\nT -y *"));
  cases.good(kCheckIn, "a tag with an escaped sign", tag("\\+x *"));
  cases.good(kCheckIn, "a tag that is nearly hex", tag("+abcg *"));
  cases.bad("a tag on another before the same on itself", tag("+x " + a + "\nT +x *"));
  cases.bad("a tag twice", tag("+x * a\nT +x * b"));
  cases.bad("tags out of order", tag("+y *\nT +x *"));
  cases.bad("a tag without a name", tag("+ *"));
  cases.bad("a tag named like a hash", tag("+abc *"));
  cases.bad("a tag named like a hash in upper case", tag("+ABC *"));
  cases.bad("a tag without a sign", tag("x *"));
  cases.bad("a tag with an empty argument", tag(" *"));
  cases.bad("a tag without a target", tag("+x"));
  cases.bad("a tag with a wrong target", tag("+x **"));
  cases.bad("a tag with a fourth argument", tag("+x * a b"));
  cases.bad("a tag card without arguments", check_in("T\n"));

  const auto control = [](const std::string& cards) { return D + "T " + cards + "\n" + U; };
  cases.good(kControl, "a control artifact", control("+x " + a));
  cases.good(kControl, "a control artifact on a SHA3 name", control("+x " + c64));
  cases.good(kControl, "one tag on two artifacts", control("+x " + a + "\nT +x " + b));
  cases.good(kControl, "a target in upper case", control("+x " + upper));
  cases.good(kCheckIn, "tags with a parent, which make a check-in",
             D + "P " + a + "\nT +x " + a + "\n" + U);
  cases.bad("a control artifact that tags itself", control("+x *"));
  cases.bad("a control artifact without a user", D + "T +x " + a + "\n");
  cases.bad("a control artifact without a date", "T +x " + a + "\n" + U);
  cases.bad("a control artifact with a mimetype", D + "N x\nT +x " + a + "\n" + U);
  cases.bad("targets out of order", control("+x " + b + "\nT +x " + a));
  cases.bad("a target twice", control("+x " + a + "\nT +x " + a));
}

void add_clusters(Cases& cases) {
  cases.good(kCluster, "a cluster of one", "M " + a + "\n");
  cases.good(kCluster, "a cluster of both kinds of name", "M " + a + "\nM " + c64 + "\n");
  cases.good(kCluster, "a cluster with upper case, in order", "M " + upper + "\nM " + a + "\n");
  cases.bad("a cluster out of order", "M " + b + "\nM " + a + "\n");
  cases.bad("a cluster with a member twice", "M " + a + "\nM " + a + "\n");
  cases.bad("two members in a card", "M " + a + " " + b + "\n");
  cases.bad("a member that is no name", "M " + a.substr(1) + "\n");
  cases.bad("a member card without an argument", "M " + a + "\nM\n");
  cases.bad("a cluster with a date", D + "M " + a + "\n");
  cases.bad("a cluster with a user", "M " + a + "\n" + U);
  cases.bad("a cluster of none", "");
}

}  // namespace quarry::artifact::test
