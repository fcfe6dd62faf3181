// Errors as values.
//
// A function whose failure the caller is expected to handle returns Result<T>. The message is made
// for a person: what happened, to which file, line or limit, and what to do about it. It holds no
// secrets, since it ends in logs and, for sync requests, in the client's terminal.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace quarry::base {

enum class ErrorCode {
  kInvalid,    // input that breaks its own format, or wrong usage
  kNotFound,   // the thing named is not there
  kDenied,     // the caller has no right to it
  kLimit,      // a configured limit would be passed
  kBusy,       // somebody else holds it; the same call may succeed later
  kConflict,   // it has changed since the caller looked; who looks again may succeed
  kCorrupt,    // stored data is not what it must be
  kReadOnly,   // it can be read, but not written
  kNoSpace,    // the disk, or what one may have of it, is full
  kIo,         // the operating system refused
  kDiscarded,  // not kept, as is configured
};

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;

/// Shorthand for returning a failure: `return fail(ErrorCode::kLimit, "…")`.
inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}

/// A failure of a system call: MESSAGE, then what errno says. errno is read first.
std::unexpected<Error> fail_errno(std::string message);

}  // namespace quarry::base

// Evaluates EXPRESSION, a Result; returns its error from the enclosing function, or goes on.
#define QUARRY_TRY(expression)                                      \
  do {                                                              \
    if (auto quarry_try_result = (expression); !quarry_try_result)  \
      return std::unexpected(std::move(quarry_try_result).error()); \
  } while (false)

#define QUARRY_CONCAT_(a, b) a##b
#define QUARRY_CONCAT(a, b) QUARRY_CONCAT_(a, b)
#define QUARRY_TRY_ASSIGN_(temporary, target, expression)               \
  auto temporary = (expression);                                        \
  if (!temporary) return std::unexpected(std::move(temporary).error()); \
  target = std::move(*temporary)

// QUARRY_TRY_ASSIGN(auto x, f()); declares x with f()'s value or returns f()'s error.
#define QUARRY_TRY_ASSIGN(target, expression) \
  QUARRY_TRY_ASSIGN_(QUARRY_CONCAT(quarry_try_, __LINE__), target, expression)
