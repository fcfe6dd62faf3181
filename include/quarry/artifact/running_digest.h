// A digest of bytes that come in pieces. Those of digest.h want all at once, and are faster for it.
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
  /// Another one that has come as far: what follows is added to each for itself.
  RunningDigest fork() const;
  /// Of all that was added, as lower-case hex; the last thing to be asked for.
  std::string hex();

 private:
  explicit RunningDigest(DigestKind kind);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::artifact
