// A user's rights in a sync, from the letters of user.cap.
//
//   g clone   o read   i write   x private artifacts   y write unversioned files
//   a admin   s setup  e read private addresses        (other letters concern web pages)
//
// `i` implies `o`, `a` implies `g`, `o`, `i` and `e`, and `s` implies `a`. The letters `u` and `v`
// grant the rights of the users `reader` and `developer`. SyncUser reads these users from the user
// table.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace quarry::sync {

enum class Right : std::uint8_t {
  kClone = 1 << 0,
  kRead = 1 << 1,
  kWrite = 1 << 2,
  kPrivate = 1 << 3,
  kWriteUnversioned = 1 << 4,
  kAdmin = 1 << 5,
  kSetup = 1 << 6,
  kReadAddresses = 1 << 7,
};

class Capabilities {
 public:
  constexpr Capabilities() = default;
  constexpr Capabilities(std::initializer_list<Right> rights) {
    for (const Right right : rights) bits_ |= static_cast<std::uint8_t>(right);
  }
  /// Returns the rights that LETTERS grant, without the effect of `u` and `v`.
  static Capabilities of_letters(std::string_view letters);

  bool may(Right right) const { return (bits_ & static_cast<std::uint8_t>(right)) != 0; }
  Capabilities& operator|=(Capabilities other) {
    bits_ |= other.bits_;
    return *this;
  }
  friend bool operator==(Capabilities, Capabilities) = default;

 private:
  std::uint8_t bits_ = 0;
};

}  // namespace quarry::sync
