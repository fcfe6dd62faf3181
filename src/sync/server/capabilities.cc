#include "capabilities.h"

#include <array>
#include <utility>

namespace quarry::sync {
namespace {

constexpr auto kGrants = std::to_array<std::pair<char, Capabilities>>({
    {'g', {Right::kClone}},
    {'o', {Right::kRead}},
    {'i', {Right::kWrite, Right::kRead}},
    {'x', {Right::kPrivate}},
    {'y', {Right::kWriteUnversioned}},
    {'e', {Right::kReadAddresses}},
    {'a', {Right::kAdmin, Right::kClone, Right::kRead, Right::kWrite, Right::kReadAddresses}},
    {'s',
     {Right::kSetup, Right::kAdmin, Right::kClone, Right::kRead, Right::kWrite,
      Right::kReadAddresses}},
});

}  // namespace

Capabilities Capabilities::of_letters(std::string_view letters) {
  Capabilities out;
  for (const auto& [letter, rights] : kGrants) {
    if (letters.contains(letter)) out |= rights;
  }
  return out;
}

}  // namespace quarry::sync
