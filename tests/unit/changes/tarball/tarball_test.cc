#include "quarry/changes/tarball.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "made_tarball.h"
#include "quarry/base/result.h"
#include "temporary_folder.h"

using namespace quarry::changes;
using quarry::base::ErrorCode;
using quarry::base::Result;

namespace {

enum class Way : std::uint8_t { kHere, kApart };
constexpr auto kWays = {Way::kHere, Way::kApart};

Result<ChangeSetContent> read(std::string_view bytes, Way way = Way::kApart,
                              const TarballLimits& limits = {}) {
  const TemporaryFolder folder;
  const auto file = file_of(bytes);
  if (way == Way::kHere) return read_tarball(file.get(), limits, folder.path());
  return TarballReaders().read(file.get(), limits, folder.path());
}

/// Requires that all ways of reading reject BYTES with the same message. Returns that message.
std::string refusal(std::string_view bytes, const TarballLimits& limits = {},
                    ErrorCode code = ErrorCode::kInvalid) {
  std::string why;
  for (const Way way : kWays) {
    const auto content = read(bytes, way, limits);
    if (content) return "it was taken";
    CHECK(content.error().code == code);
    if (!why.empty()) CHECK(why == content.error().message);
    why = content.error().message;
  }
  return why;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string meta(const std::vector<std::string>& files) {
  Meta meta;
  meta.target = "trunk";
  meta.files = files;
  meta.comment = "c";
  return tar_entry({.name = "meta", .content = meta.text()});
}

/// Makes a tarball whose meta file lists the file "a", followed by ENTRIES.
std::string with(const std::string& entries) {
  return meta({"a"}) + entries + tar_end();
}

struct Given {
  std::string name;
  char permission = 0;
  std::string content;
};

Result<std::string> written(const std::vector<Given>& files, TarballCompression compression,
                            std::vector<std::string> deletions = {}) {
  Meta meta;
  meta.target = "trunk";
  meta.comment = "Änderung";
  meta.files = std::move(deletions);
  std::vector<FileToSubmit> to_submit;
  for (const Given& file : files) {
    meta.files.push_back(file.name);
    to_submit.push_back({file.name, file.permission, [&file] { return file.content; }});
  }
  std::string out;
  QUARRY_TRY(write_tarball(
      [&](std::string_view bytes) {
        out += bytes;
        return Result<void>();
      },
      meta, to_submit, compression));
  return out;
}

}  // namespace

TEST_CASE("a tarball is read as written, however it is compressed") {
  const std::string large(3'000'000, 'x');
  const std::string longest = std::string(255, 'n') + "/" + std::string(255, 'm') + "/ü";
  const std::vector<Given> files = {{"a", 0, "one\n"},
                                    {"d/empty", 0, ""},
                                    {"d/link", 'l', "../a"},
                                    {"d/run.sh", 'x', "#!"},
                                    {"large", 0, large},
                                    {"große Datei", 0, "ß"},
                                    {"gro\u0308ße", 0, "decomposed Unicode"},
                                    {longest, 'l', "../../große Datei"},
                                    {"u\u0308", 'l', "gro\u0308ße"},
                                    {"ü", 0, "composed"}};
  for (const auto compression :
       {TarballCompression::kNone, TarballCompression::kGzip, TarballCompression::kZstd}) {
    const auto bytes = written(files, compression, {"gone"});
    REQUIRE(bytes);
    CHECK(written(files, compression, {"gone"}) == *bytes);
    for (const Way way : kWays) {
      const auto content = read(*bytes, way);
      REQUIRE_MESSAGE(content, content.error().message);
      CHECK(content->meta().comment == "Änderung");
      CHECK(content->deletions() == std::vector<std::string>{"gone"});
      REQUIRE(content->files().size() == files.size());
      CHECK(std::ranges::is_sorted(content->files(), {}, &SubmittedFile::name));
      for (const Given& file : files) {
        const auto at = std::ranges::find(content->files(), file.name, &SubmittedFile::name);
        REQUIRE(at != content->files().end());
        CHECK(at->permission == file.permission);
        CHECK(content->read(*at) == file.content);
      }
    }
  }
}

TEST_CASE("a tarball that would be rejected is not written") {
  CHECK(has(written({{"../a", 0, ""}}, TarballCompression::kNone).error().message, "../a"));
  CHECK(has(written({{".fslckout", 0, ""}}, TarballCompression::kNone).error().message,
            "reserved by fossil"));
  CHECK(has(written({{"l", 'l', "/etc/passwd"}}, TarballCompression::kNone).error().message,
            "absolute"));
  CHECK(has(written({{"\xff.txt", 0, ""}}, TarballCompression::kNone).error().message,
            "a file's name is not UTF-8"));
  // A meta file cannot express these names, and would list a different file.
  for (const std::string name : {"a\nb", "\t", ""}) {
    CAPTURE(name);
    CHECK_FALSE(written({{"c", 0, ""}}, TarballCompression::kNone, {name}));
  }
  CHECK(written({{"c", 0, ""}}, TarballCompression::kNone, {"##x", " b"}));
}

TEST_CASE("entries for folders are optional, and meta may be anywhere") {
  const std::string file = tar_entry({.name = "lroot/a", .content = "x"});
  const std::string folder = tar_entry({.name = "lroot/", .type = '5'});
  CHECK(
      read(folder + file + tar_entry({.name = "lroot/b/", .type = '5'}) + meta({"a"}) + tar_end()));
  CHECK(read(file + meta({"a"}) + tar_end()));
  CHECK(read(meta({"a"}) + tar_end())->deletions() == std::vector<std::string>{"a"});
}

TEST_CASE("a rollback has no files") {
  Meta rollback;
  rollback.type = MoveType::kRollback;
  rollback.dependencies = {ChangeSetId::random()};
  const std::string head = tar_entry({.name = "meta", .content = rollback.text()});
  CHECK(read(head + tar_end()));
  CHECK(has(refusal(head + tar_entry({.name = "lroot/a"}) + tar_end()), "not in ##files"));
}

TEST_CASE("names that lead elsewhere, or that are reserved") {
  for (const std::string name : {"../a",
                                 "/etc/passwd",
                                 "lroot/../a",
                                 "lroot/./a",
                                 "./meta",
                                 "lroot//a",
                                 "lroot/a/..",
                                 "lroot/b/../../c",
                                 "other",
                                 "lrootx/a",
                                 "lroot",
                                 "lroot/a\nb",
                                 "lroot/a\x7f",
                                 "lroot/\xff\xfe",
                                 "lroot/\xc0\xaf",
                                 "lroot/\xc2\x85",
                                 "lroot/a\\b",
                                 "lroot/.fslckout",
                                 "lroot/_FOSSIL_",
                                 "lroot/sub/_fossil_-journal",
                                 "lroot/.fslckout/x",
                                 "lroot/.FOS"}) {
    CAPTURE(name);
    const std::string why = refusal(with(tar_entry({.name = name, .content = "x"})));
    CHECK_MESSAGE(why.find("not in ##files") == std::string::npos, why);
    CHECK(why != "it was taken");
    if (name == "lroot") continue;  // allowed as a folder
    CHECK(refusal(with(tar_entry({.name = name + "/", .type = '5'}))) != "it was taken");
  }
  const std::string long_name = "lroot/" + std::string(kMaxName + 1, 'n');
  CHECK(has(
      refusal(with(tar_entry({.name = "././@LongLink", .type = 'L', .content = long_name + '\0'}) +
                   tar_entry({.name = "lroot/n"})),
              {}, ErrorCode::kLimit),
      "longer than"));
  for (const std::string in_meta : {".fslckout", "b\\c", "_FOSSIL_-wal"}) {
    CHECK(
        has(refusal(meta({"a", in_meta}) + tar_entry({.name = "lroot/a"}) + tar_end()), "##files"));
  }
}

TEST_CASE("components of names are limited as in file systems") {
  const auto tarball_with = [](const std::string& name) {
    return meta({name}) +
           tar_entry({.name = "././@LongLink", .type = 'L', .content = "lroot/" + name + '\0'}) +
           tar_entry({.name = "lroot/n"}) + tar_end();
  };
  for (const std::string before : {"", "d/"}) {
    for (const std::string after : {"", "/f"}) {
      const std::string longest = before + std::string(255, 'n') + after;
      const std::string longer = before + std::string(256, 'n') + after;
      CHECK(read(tarball_with(longest)));
      CHECK(has(refusal(tarball_with(longer), {}, ErrorCode::kLimit),
                "a component of a file name is longer than 255 bytes"));
    }
  }
}

TEST_CASE("symbolic links stay within the tree") {
  for (const std::string target : {"b", "../b", "./b", ".././/b", ".", "..", "b//c", "..."}) {
    CAPTURE(target);
    CHECK(read(meta({"d/l"}) + tar_entry({.name = "lroot/d/l", .type = '2', .link = target}) +
               tar_end()));
  }
  for (const std::string target :
       {"", "/", "/etc/passwd", "../..", "../../b", "x/../../../b", "../../d/x", "a\nb", "\xff",
        "../.fslckout", "_FOSSIL_", "b\\c", "x/../b", "x/../../b", "../x/./../b"}) {
    CAPTURE(target);
    CHECK(refusal(meta({"d/l"}) + tar_entry({.name = "lroot/d/l", .type = '2', .link = target}) +
                  tar_end()) != "it was taken");
  }
}

TEST_CASE("only files, folders and symbolic links are accepted") {
  const auto why = [](const TarEntry& entry) {
    return refusal(with(entry.name.empty() ? "" : tar_entry(entry)));
  };
  CHECK(has(why({.name = "lroot/a", .type = '1', .link = "lroot/b"}), "a hard link"));
  CHECK(has(why({.name = "lroot/a", .type = '1', .link = "/etc/passwd"}), "a hard link"));
  CHECK(has(why({.name = "lroot/a", .type = '3'}), "a device"));
  CHECK(has(why({.name = "lroot/a", .type = '4'}), "a device"));
  CHECK(has(why({.name = "lroot/a", .type = '6'}), "a named pipe"));
  CHECK(why({.name = "meta", .type = '2', .link = "lroot/a"}) != "it was taken");
  CHECK(why({.name = "meta/", .type = '5'}) != "it was taken");
}

TEST_CASE("names are unique") {
  const std::string a = tar_entry({.name = "lroot/a", .content = "x"});
  CHECK(has(refusal(with(a + a)), "\"a\" is in the tarball twice"));
  CHECK(has(refusal(meta({"a"}) + a + meta({"a"}) + tar_end()), "meta is in the tarball twice"));
  CHECK(
      has(refusal(with(a + tar_entry({.name = "lroot/a/", .type = '5'}))), "a file and a folder"));
  const std::string both = meta({"a", "a b", "a/b", "a-b"}) + a + tar_entry({.name = "lroot/a-b"}) +
                           tar_entry({.name = "lroot/a b"});
  CHECK(read(both + tar_end()));
  CHECK(has(refusal(both + tar_entry({.name = "lroot/a/b"}) + tar_end()), "a file and a folder"));
  CHECK(
      has(refusal(meta({"a", "a/b/c"}) + tar_entry({.name = "lroot/a", .type = '2', .link = "x"}) +
                  tar_entry({.name = "lroot/a/b/c"}) + tar_end()),
          "a file and a folder"));
}

TEST_CASE("the meta file names every file, and those that are missing are deleted") {
  CHECK(has(refusal(with(tar_entry({.name = "lroot/b"}))),
            "lroot/b is in the tarball, but not in ##files"));
  CHECK(has(refusal(tar_entry({.name = "lroot/a"}) + tar_end()), "not contain a file called meta"));
  CHECK(has(refusal(tar_entry({.name = "meta", .content = "##movetype\nXX\n"}) + tar_end()),
            "meta: ##movetype"));
}

TEST_CASE("every limit is enforced") {
  const std::string a = tar_entry({.name = "lroot/a", .content = std::string(1000, 'x')});
  const TarballLimits usual;
  auto limits = usual;
  limits.tarball = 100;
  CHECK(has(refusal(with(a), limits, ErrorCode::kLimit), "the limit is 100"));
  limits = usual;
  limits.file = 999;
  CHECK(has(refusal(with(a), limits, ErrorCode::kLimit),
            "\"a\" is 1000 bytes long; the limit is 999"));
  limits.file = 1000;
  CHECK(read(with(a), Way::kApart, limits));
  limits = usual;
  limits.expanded = with(a).size() - 1;
  for (const std::string& bytes : {with(a), gzip(with(a)), zstd(with(a))}) {
    CHECK(has(refusal(bytes, limits, ErrorCode::kLimit), "expands to more than"));
  }
  limits.expanded = with(a).size();
  CHECK(read(gzip(with(a)), Way::kApart, limits));
  limits = usual;
  limits.entries = 1;
  CHECK(has(refusal(with(a), limits, ErrorCode::kLimit), "more than 1 entries"));
  const std::string huge_meta(kMaxMeta + 1, 'x');
  CHECK(has(
      refusal(tar_entry({.name = "meta", .content = huge_meta}) + tar_end(), {}, ErrorCode::kLimit),
      "meta"));
}

TEST_CASE("the maximum number of files is read") {
  std::vector<std::string> names;
  std::string entries;
  for (std::size_t i = 0; i < kMaxFiles; ++i) {
    names.push_back("f" + std::to_string(i));
    entries += tar_entry({.name = "lroot/" + names.back(), .content = "x"});
  }
  const auto content = read(meta(names) + entries + tar_end());
  REQUIRE_MESSAGE(content, content.error().message);
  CHECK(content->files().size() == kMaxFiles);
}

TEST_CASE("a decompression bomb is stopped at the limit" * doctest::test_suite("long")) {
  const std::string zeros = gzip_zeros(std::size_t{300} << 20);
  CHECK(zeros.size() < 400'000);
  CHECK(has(refusal(zeros, {}, ErrorCode::kLimit), "expands to more than"));
  CHECK(has(refusal(gzip(with("")) + zeros, {}, ErrorCode::kLimit), "expands to more than"));
  TarballLimits large;
  large.file = std::uint64_t{4} << 30;
  const std::string head = tar_entry({.name = "lroot/a", .size = std::uint64_t{1} << 30});
  CHECK(has(refusal(gzip(meta({"a"}) + head) + zeros, large, ErrorCode::kLimit),
            "expands to more than"));
}

TEST_CASE("only one layer of compression is accepted") {
  const std::string bytes = with(tar_entry({.name = "lroot/a"}));
  for (const std::string& layers :
       {gzip(gzip(bytes)), gzip(zstd(bytes)), zstd(gzip(bytes)), zstd(zstd(bytes))}) {
    CHECK(refusal(layers) != "it was taken");
  }
}

TEST_CASE("endless special headers are rejected") {
  std::string heads;
  for (int i = 0; i < 100'000; ++i)
    heads += tar_entry({.name = "././@LongLink", .type = 'L', .content = "lroot/a"});
  CHECK(
      has(refusal(gzip(with(heads + tar_entry({.name = "lroot/a"})))), "Too many special headers"));
  for (const char type : {'L', 'K', 'x', 'g'}) {
    CAPTURE(type);
    CHECK(refusal(with(tar_entry({.name = "x", .type = type, .size = std::uint64_t{60} << 30}))) !=
          "it was taken");
  }
}

TEST_CASE("a tarball truncated anywhere is rejected") {
  const std::string plain = meta({"a", "b"}) +
                            tar_entry({.name = "lroot/a", .content = std::string(1024, '\0')}) +
                            tar_entry({.name = "lroot/b", .content = std::string(700, 'x')});
  // The archive is complete after the first of its two end blocks, so the loop stops there. The
  // loop tries only sizes at the end of a block and next to that end.
  const auto step = [](std::size_t size) { return std::size_t{size % 512 == 1 ? 510U : 1U}; };
  for (std::size_t size = 0; size < plain.size() + 512; size += step(size)) {
    CAPTURE(size);
    CHECK_FALSE(read((plain + tar_end()).substr(0, size), Way::kHere));
  }
  const std::string bytes = plain + tar_end();
  for (const std::string& compressed : {gzip(bytes), zstd(bytes)}) {
    REQUIRE(read(compressed));
    for (std::size_t size = 0; size < compressed.size(); ++size) {
      CAPTURE(size);
      CHECK_FALSE(read(compressed.substr(0, size), Way::kHere));
    }
  }
}

TEST_CASE("a wrong byte in a gzip tarball is noticed") {
  const std::string bytes = gzip(with(tar_entry({.name = "lroot/a", .content = "some content"})));
  for (std::size_t i = 10; i < bytes.size();
       ++i) {  // bytes 0 to 9 are the header, which does not affect the content
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    CAPTURE(i);
    const auto content = read(damaged, Way::kHere);
    // A changed padding bit does not cause an error.
    if (content) CHECK(content->read(content->files().at(0)) == "some content");
  }
}

TEST_CASE("data after the archive is rejected") {
  const std::string bytes = with(tar_entry({.name = "lroot/a"}));
  CHECK(read(bytes + std::string(10'240, '\0')));
  CHECK(has(refusal(bytes + "x"), "data after the end"));
  CHECK(has(refusal(bytes + with("")), "data after the end"));
  CHECK(refusal(gzip(bytes) + "garbage") != "it was taken");
  CHECK(refusal(zstd(bytes) + "garbage") != "it was taken");
}

TEST_CASE("input that is not a tarball is rejected") {
  for (const std::string bytes :
       {"", "x", "PK\3\4", "hello, this is no tarball at all", "7z\xbc\xaf\x27\x1c"}) {
    CHECK(refusal(bytes) != "it was taken");
  }
  CHECK(refusal(std::string(4096, 'x')) != "it was taken");
  CHECK(has(refusal(std::string(10'240, '\0')), "not contain a file called meta"));
  const TemporaryFolder folder;
  CHECK_FALSE(read_tarball(-1, {}, folder.path()));
}

TEST_CASE("only the owner's execute bit counts") {
  const auto permission = [](unsigned mode) {
    return read(with(tar_entry({.name = "lroot/a", .mode = mode})))->files().at(0).permission;
  };
  CHECK(permission(0755) == 'x');
  CHECK(permission(0611) == 0);
  CHECK(permission(06644) == 0);
}

namespace {

/// Returns the process ID of the only child of this process.
std::string only_child() {
  std::ifstream in("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  std::string pid, other;
  in >> pid >> other;
  REQUIRE(!pid.empty());
  REQUIRE(other.empty());
  return pid;
}

}  // namespace

TEST_CASE("readers are started one after another, whatever happened to the previous one") {
  const TemporaryFolder folder;
  TarballReaders readers;
  const auto good = file_of(with(tar_entry({.name = "lroot/a", .content = "one"})));
  const auto bad = file_of("no tarball");
  for (int i = 0; i < 3; ++i) {
    const auto content = readers.read(good.get(), {}, folder.path());
    REQUIRE(content);
    CHECK(content->read(content->files().front()) == "one");
    CHECK(readers.read(bad.get(), {}, folder.path()).error().code == ErrorCode::kInvalid);
    CHECK(readers.read(good.get(), {.tarball = 10}, folder.path()).error().code ==
          ErrorCode::kLimit);
  }
}

TEST_CASE("the helper has no files open, ends with its owner, and is started again if it dies") {
  std::string first;
  {
    const TarballReaders readers;
    first = only_child();
  }
  CHECK_FALSE(std::filesystem::exists("/proc/" + first));
  const TemporaryFolder folder;
  const auto good = file_of(with(tar_entry({.name = "lroot/a", .content = "one"})));
  TarballReaders readers;
  first = only_child();
  std::size_t others = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/" + first + "/fd")) {
    if (std::stoi(each.path().filename()) > STDERR_FILENO) ++others;
  }
  CHECK(others == 1);
  ::kill(std::stoi(first), SIGKILL);
  CHECK(readers.read(good.get(), {}, folder.path()));
  CHECK(only_child() != first);
}

namespace {

const ChangeSetName kName{.id = *ChangeSetId::parse("00000000000000ab"),
                          .tai = tai64n({1'700'000'000'000}),
                          .pid = 1,
                          .host = "h",
                          .type = MoveType::kDevelopment,
                          .extra = {}};

/// Caches the contents of a small change set in FOLDER.
void keep(const TemporaryFolder& folder) {
  const auto file = file_of(meta({"a", "gone", "l"}) +
                            tar_entry({.name = "lroot/a", .content = "one", .mode = 0755}) +
                            tar_entry({.name = "lroot/l", .type = '2', .link = "a"}) + tar_end());
  const auto content = read_tarball(file.get(), {}, folder.path());
  REQUIRE_MESSAGE(content, content.error().message);
  const auto kept = keep_content(*content, folder.path(), kName);
  REQUIRE_MESSAGE(kept, kept.error().message);
}

std::filesystem::path only_file(const TemporaryFolder& folder) {
  return std::filesystem::directory_iterator(folder.path())->path();
}

}  // namespace

TEST_CASE("content can be cached, and is taken once") {
  const TemporaryFolder folder;
  CHECK_FALSE(has_content(folder.path(), kName));
  keep(folder);
  CHECK(has_content(folder.path(), kName));
  const auto content = take_content(folder.path(), kName, {});
  REQUIRE_MESSAGE(content, content.error().message);
  CHECK(content->meta().files == std::vector<std::string>{"a", "gone", "l"});
  CHECK(content->deletions() == std::vector<std::string>{"gone"});
  REQUIRE(content->files().size() == 2);
  CHECK(content->files()[0].permission == 'x');
  CHECK(content->read(content->files()[0]) == "one");
  CHECK(content->files()[1].permission == 'l');
  CHECK(content->read(content->files()[1]) == "a");
  CHECK(take_content(folder.path(), kName, {}).error().code == ErrorCode::kNotFound);
  keep(folder);
  drop_content(folder.path(), kName);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("damaged or truncated cached content is noticed, and deleted") {
  const TemporaryFolder folder;
  keep(folder);
  const auto path = only_file(folder);
  const auto size = std::filesystem::file_size(path);
  drop_content(folder.path(), kName);
  for (std::uintmax_t at = 0; at < size; ++at) {
    CAPTURE(at);
    keep(folder);
    {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const char before = static_cast<char>(file.get());
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(before ^ 1));
    }
    REQUIRE(take_content(folder.path(), kName, {}).error().code == ErrorCode::kInvalid);
    REQUIRE_FALSE(std::filesystem::exists(path));
    keep(folder);
    std::filesystem::resize_file(path, at);
    REQUIRE(take_content(folder.path(), kName, {}).error().code == ErrorCode::kInvalid);
  }
}

TEST_CASE("large content is not cached") {
  const TemporaryFolder folder;
  const auto file = file_of(
      with(tar_entry({.name = "lroot/a", .content = std::string(std::size_t{2} << 20, 'x')})));
  const auto content = read_tarball(file.get(), {}, folder.path());
  REQUIRE(content);
  CHECK(keep_content(*content, folder.path(), kName).error().code == ErrorCode::kLimit);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("several tarballs are read by one child, each independently") {
  const TemporaryFolder folder;
  TarballReaders readers;
  std::vector<quarry::base::Fd> files;
  std::vector<int> numbers;
  for (std::size_t i = 0; i < TarballReaders::kMax; ++i) {
    const std::string content = "content " + std::to_string(i);
    files.push_back(
        file_of(i == 3 ? "no tarball" : with(tar_entry({.name = "lroot/a", .content = content}))));
    numbers.push_back(files.back().get());
  }
  for (int round = 0; round < 2; ++round) {
    const auto read = readers.read_together(numbers, {}, folder.path());
    REQUIRE_MESSAGE(read, read.error().message);
    REQUIRE(read->size() == numbers.size());
    for (std::size_t i = 0; i < read->size(); ++i) {
      const auto& content = (*read)[i];
      CAPTURE(i);
      REQUIRE(content.has_value() == (i != 3));
      if (!content) {
        CHECK(content.error().code == ErrorCode::kInvalid);
      } else {
        CHECK(content->read(content->files().front()) == "content " + std::to_string(i));
      }
    }
  }
}
