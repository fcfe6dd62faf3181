// The dead letters of a subscription. Dead letters are in a separate stream, NAME.SUB.dead, which
// has a single subscription, "letters". The stream is created with the first dead letter. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "quarry/base/result.h"
#include "quarry/spool/stream.h"
#include "segments/spool_files.h"

namespace quarry::spool {

class StreamCore;

SpoolLocation dead_letters_of(const SpoolLocation& location, const std::string& subscription);
/// Returns the location of the messages that waited when SUBSCRIPTION was retired. They are stored
/// like dead letters.
SpoolLocation kept_messages_of(const SpoolLocation& location, const std::string& subscription);
/// The name of the only subscription of a stream of dead letters.
inline constexpr const char* kLetters = "letters";

class DeadLetters {
 public:
  /// Opens the stream of dead letters if it exists. ENVIRONMENT is not owned. Errors: file system
  /// errors.
  static Result<std::unique_ptr<DeadLetters>> open(const SpoolLocation& location, Reporter reporter,
                                                   const StreamEnvironment& environment);
  ~DeadLetters();
  DeadLetters(const DeadLetters&) = delete;
  DeadLetters& operator=(const DeadLetters&) = delete;

  /// Appends LETTERS, each with its last error. The letters are on disk when the function returns.
  /// Errors: file system errors.
  Result<void> put(std::span<const StreamedMessage> letters);
  std::uint64_t count() const;
  /// Passes all letters to TAKE in batches. Deletes each batch after TAKE has succeeded. Returns
  /// the number of letters. Errors: the errors from TAKE, and file system errors.
  using Take = std::function<Result<void>(std::span<const StreamedMessage> letters)>;
  Result<std::uint64_t> take_all(const Take& take);
  /// Deletes all letters and returns their number.
  Result<std::uint64_t> purge();
  Result<void> remove();

 private:
  DeadLetters(SpoolLocation location, Reporter reporter, const StreamEnvironment& environment);
  Result<void> open_stream();

  SpoolLocation location_;
  Reporter reporter_;
  StreamEnvironment environment_;
  std::unique_ptr<StreamCore> stream_;  // null before the first letter
  std::shared_ptr<Subscription> letters_;
};

}  // namespace quarry::spool
