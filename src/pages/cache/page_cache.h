// A cache of pages that evicts the least recently used pages.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cached_page.h"

namespace quarry::pages {

class PageCache {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Creates a cache. MAX_SIZE is the maximum size of the cache in bytes, and TTL the maximum age
  /// of a page.
  PageCache(std::size_t max_size, std::chrono::milliseconds ttl) : max_size_(max_size), ttl_(ttl) {}

  bool is_enabled() const { return ttl_.count() > 0; }
  /// Returns the maximum size of a cached page.
  std::size_t largest() const { return max_size_ / 8; }
  /// Returns the page for KEY, or null if it is not in the cache.
  std::shared_ptr<const CachedPage> find(const std::string& key, Time now);
  /// Inserts PAGE. Replaces a page with the same KEY.
  void insert(const std::string& key, std::shared_ptr<const CachedPage> page, Time now);
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const CachedPage> page;
    Time end;
  };
  using Entries = std::list<Entry>;  // most recently used first

  void remove(Entries::iterator entry);

  std::size_t max_size_;
  std::chrono::milliseconds ttl_;
  std::size_t size_ = 0;
  Entries entries_;
  std::unordered_map<std::string_view, Entries::iterator> by_key_;
};

}  // namespace quarry::pages
