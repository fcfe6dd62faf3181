// A digest of data that arrives in pieces. The functions of digest.h need all data at once, and are
// faster.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace quarry::artifact {

enum class DigestKind;

class RunningDigest {
 public:
  static RunningDigest sha1();
  static RunningDigest sha3_256();
  static RunningDigest md5();
  RunningDigest(RunningDigest&& other) noexcept;
  RunningDigest& operator=(RunningDigest&& other) noexcept;
  ~RunningDigest();

  void add(std::string_view bytes);
  /// A copy of the current state, to which other data can be added.
  RunningDigest fork() const;
  /// The digest of all added bytes, as lower-case hex. Call it last.
  std::string hex();

 private:
  explicit RunningDigest(DigestKind kind);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::artifact
