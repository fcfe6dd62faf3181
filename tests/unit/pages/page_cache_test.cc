#include "cache/page_cache.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::pages;
using std::chrono::seconds;

namespace {

std::shared_ptr<const CachedPage> page_of(const std::string& body) {
  return CachedPage::make(
      {.status = 200, .reason = "OK", .fields = {}, .content_length = body.size()}, body);
}

}  // namespace

TEST_CASE("a page expires after its time, and is replaced by a newer one") {
  PageCache cache(100'000, seconds(60));
  const PageCache::Time begin{};
  CHECK_FALSE(cache.find("a", begin));
  const auto first = page_of("1");
  cache.insert("a", first, begin);
  CHECK(cache.find("a", begin + seconds(59)) == first);
  const auto second = page_of("2");
  cache.insert("a", second, begin + seconds(59));
  CHECK(cache.find("a", begin + seconds(60)) == second);
  CHECK_FALSE(cache.find("a", begin + seconds(119)));
  CHECK(cache.size() == 0);
}

TEST_CASE("the least recently used pages are evicted, and the limit holds") {
  PageCache cache(10'000, seconds(60));
  const PageCache::Time begin{};
  for (int i = 0; i < 100; ++i) {
    cache.insert(std::to_string(i), page_of(std::string(1000, 'x')), begin);
    CHECK(cache.find("0", begin));
    CHECK(cache.size() <= 10'000);
  }
  CHECK(cache.find("99", begin));
  CHECK_FALSE(cache.find("50", begin));
  cache.insert("large", page_of(std::string(20'000, 'x')), begin);
  CHECK_FALSE(cache.find("large", begin));
  CHECK(cache.find("0", begin));
}
