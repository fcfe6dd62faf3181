#include "store/held_texts.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "derived/odd_artifacts.h"
#include "store/database.h"

using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

/// Sets TMPDIR to a folder that does not exist, for the lifetime of the object.
class NoTemporaryFolder {
 public:
  NoTemporaryFolder() {
    if (const char* folder = std::getenv("TMPDIR")) before_ = folder;
    ::setenv("TMPDIR", "/nonexistent", 1);
  }
  ~NoTemporaryFolder() {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }
  NoTemporaryFolder(const NoTemporaryFolder&) = delete;
  NoTemporaryFolder& operator=(const NoTemporaryFolder&) = delete;

 private:
  std::optional<std::string> before_;
};

std::string held_page(std::string_view title, std::size_t size) {
  return finish(fmt::format("D 2021-02-01T00:00:00\nL {}\nU ann\nW {}\n{}\n", title, size,
                            std::string(size, 'x')));
}

}  // namespace

TEST_CASE("texts are read back from memory and from the file") {
  HeldTexts texts(1000);
  std::vector<std::pair<HeldTexts::Span, std::string>> added;
  for (std::size_t i = 0; i < 100; ++i) {
    const std::string text(i * 37 % 301, static_cast<char>('0' + i % 70));
    added.emplace_back(texts.add(text), text);
  }
  const std::string large(5000, '!');
  added.emplace_back(texts.add(large), large);
  added.emplace_back(texts.add("the last"), "the last");
  for (const auto& [span, text] : added) CHECK(texts.get(span) == text);
  texts.clear();
  CHECK(texts.size() == 0);
  CHECK(texts.get(texts.add("the first again")) == "the first again");
}

TEST_CASE("a read error of a text is not reported as a write error") {
  HeldTexts texts(10);
  const HeldTexts::Span span = texts.add("0123456789");
  texts.add("and more");
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(fd, gone).string();
    if (target.find("quarry-texts-") != std::string::npos) std::filesystem::resize_file(fd, 0);
  }
  std::string message;
  try {
    texts.get(span);
  } catch (const SqliteError& error) {
    message = error.what();
  }
  CHECK(message.starts_with("cannot read a temporary file in "));
}

TEST_CASE("a rebuild with more texts than memory may hold needs a temporary file") {
  World world;
  for (const char* title : {"one", "two", "three"}) world.put(held_page(title, 1000));
  const NoTemporaryFolder none;
  CHECK(rebuild(world.file()));
  const auto rebuilt = rebuild(world.file(), {.walk = {.texts = 2000}});
  REQUIRE_FALSE(rebuilt);
  CHECK(rebuilt.error().message.find("TMPDIR must name a folder") != std::string::npos);
}

TEST_CASE("a receipt never needs a temporary file") {
  World world;
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  world.reopen({.walk = {.texts = 9 * kMiB}});
  const NoTemporaryFolder none;
  world.receive([](Receipt& receipt) {
    CHECK(receipt.store(whole(held_page("short", 7 * kMiB))));
    CHECK(receipt.store(whole(held_page("medium", 4 * kMiB))));
    CHECK(receipt.store(whole(held_page("long", 12 * kMiB))));
    CHECK(receipt.store(whole(held_page("shortest", 1))));
  });
  CHECK(world.sql("SELECT count(*) FROM event WHERE type='w'") == "4");
}
