// What one subscription has given up: a stream of its own, NAME.SUB.dead, with one subscription,
// "letters". It is made with the first letter. Not for several threads at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/spool/stream.h"
#include "segments/spool_files.h"

namespace quarry::spool {

/// Where the dead letters of SUBSCRIPTION of the stream at PLACE are.
SpoolLocation dead_letters_of(const SpoolLocation& location, const std::string& subscription);
/// The subscription that holds them.
inline constexpr const char* kLetters = "letters";

/// A message that was given up, and why.
struct DeadLetter {
  StreamedMessage message;
  std::string error;
};

class DeadLetters {
 public:
  /// Opens what there is. Nothing of ENVIRONMENT is owned. Errors: what the disk says.
  static base::Result<std::unique_ptr<DeadLetters>> open(const SpoolLocation& location,
                                                         Reporter reporter,
                                                         const StreamEnvironment& environment);
  ~DeadLetters();
  DeadLetters(const DeadLetters&) = delete;
  DeadLetters& operator=(const DeadLetters&) = delete;

  /// Takes LETTERS: they are on the disk when this returns. Errors: what the disk says.
  base::Result<void> put(std::span<const DeadLetter> letters);
  std::uint64_t count() const;
  base::Result<void> visit(const StreamVisitor& visitor) const;
  /// Gives all of them to TAKE, in batches, and forgets each batch that it takes. Returns how many
  /// were taken. Errors: those of TAKE, and what the disk says.
  using Take = std::function<base::Result<void>(std::span<const StreamedMessage> letters)>;
  base::Result<std::uint64_t> take_all(const Take& take);
  /// Forgets all. Returns how many.
  base::Result<std::uint64_t> purge();
  /// Removes the files.
  base::Result<void> remove();

 private:
  DeadLetters(SpoolLocation location, Reporter reporter, const StreamEnvironment& environment);
  base::Result<void> open_stream();

  SpoolLocation location_;
  Reporter reporter_;
  StreamEnvironment environment_;
  std::unique_ptr<StreamCore> stream_;  // none before the first letter
  std::shared_ptr<Subscription> letters_;
};

}  // namespace quarry::spool
