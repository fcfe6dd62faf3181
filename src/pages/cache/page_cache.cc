#include "page_cache.h"

#include <iterator>
#include <utility>

namespace quarry::pages {

std::shared_ptr<const CachedPage> PageCache::find(const std::string& key, Time now) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const auto entry = found->second;
  if (now >= entry->end) {
    remove(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->page;
}

void PageCache::insert(const std::string& key, std::shared_ptr<const CachedPage> page, Time now) {
  if (const auto known = by_key_.find(key); known != by_key_.end()) remove(known->second);
  const std::size_t more = page->size() + 2 * key.size();
  if (more > max_size_) return;
  while (size_ + more > max_size_) remove(std::prev(entries_.end()));
  entries_.push_front({key, std::move(page), now + ttl_});
  by_key_.emplace(entries_.front().key, entries_.begin());
  size_ += more;
}

void PageCache::remove(Entries::iterator entry) {
  size_ -= entry->page->size() + 2 * entry->key.size();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace quarry::pages
