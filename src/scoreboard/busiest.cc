#include "quarry/scoreboard/busiest.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace quarry::scoreboard {
namespace {

using Name = FixedText<128>;
using NameWords = std::array<std::uint64_t, BusiestMemory::kNameWords>;
using Entry = BusiestMemory::Entry;

/// Returns the FNV-1a hash of NAME, which is the same in all processes. Never returns 0.
std::uint64_t key_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return std::max<std::uint64_t>(hash, 1);
}

std::uint64_t requests_of(const Entry& entry) {
  return entry.requests.load(std::memory_order_relaxed);
}

Entry* entry_for(BusiestMemory& memory, std::uint64_t key, const Name& name) {
  const auto has_key = [&](const Entry& entry) {
    return entry.key.load(std::memory_order_relaxed) == key;
  };
  const auto found = std::ranges::find_if(memory.entries, has_key);
  if (found != memory.entries.end()) return &*found;
  const auto least = std::ranges::min_element(memory.entries, {}, requests_of);
  std::uint64_t replaced = least->key.load(std::memory_order_relaxed);
  if (!least->key.compare_exchange_strong(replaced, key, std::memory_order_relaxed)) return nullptr;
  const auto words = std::bit_cast<NameWords>(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    least->name[i].store(words[i], std::memory_order_relaxed);
  }
  return &*least;
}

}  // namespace

void count_request(BusiestMemory& memory, std::string_view name, std::uint64_t duration) {
  Name stored;
  stored.assign(name);
  Entry* const entry = entry_for(memory, key_of(stored.view()), stored);
  if (entry == nullptr) return;
  entry->requests.fetch_add(1, std::memory_order_relaxed);
  entry->duration.fetch_add(duration, std::memory_order_relaxed);
}

std::vector<RepositoryCount> busiest_in(const BusiestMemory& memory) {
  std::vector<RepositoryCount> found;
  for (const Entry& entry : memory.entries) {
    const std::uint64_t key = entry.key.load(std::memory_order_relaxed);
    if (key == 0) continue;
    NameWords words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = entry.name[i].load(std::memory_order_relaxed);
    }
    const RepositoryCount count{std::bit_cast<Name>(words), requests_of(entry),
                                entry.duration.load(std::memory_order_relaxed)};
    if (key_of(count.name.view()) == key) found.push_back(count);
  }
  std::ranges::sort(found, std::ranges::greater(), &RepositoryCount::requests);
  found.resize(std::min(found.size(), kMaxBusiest));
  return found;
}

}  // namespace quarry::scoreboard
