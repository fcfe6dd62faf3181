// Errors as values.
//
// A function returns Result<T> if its caller is expected to handle the failure. The message is for
// people. It names the operation that failed, the file, line or limit, and the remedy. A message
// must not contain secrets, because logs and the terminals of clients show it.
#pragma once

#include <fmt/core.h>

#include <expected>
#include <string>
#include <utility>

namespace quarry::base {

enum class ErrorCode {
  kInvalid,    // malformed input or wrong usage
  kNotFound,   // the named object does not exist
  kDenied,     // permission denied
  kLimit,      // a configured limit does not permit the operation
  kBusy,       // in use by another process; the same call may succeed later
  kConflict,   // the object has changed since the caller read it; retry with new data
  kCorrupt,    // stored data is damaged
  kReadOnly,   // the object can be read but not written
  kNoSpace,    // the disk or quota is full
  kIo,         // a system call failed
  kDiscarded,  // dropped because of the configuration
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

/// Formats the message: `return fail(ErrorCode::kLimit, "more than {} users", max)`.
template <typename First, typename... Others>
std::unexpected<Error> fail(ErrorCode code, fmt::format_string<First, Others...> format,
                            First&& first, Others&&... others) {
  return fail(code,
              fmt::format(format, std::forward<First>(first), std::forward<Others>(others)...));
}

/// Returns a failure of a system call: MESSAGE, followed by the text for errno.
std::unexpected<Error> fail_errno(std::string message);
template <typename First, typename... Others>
std::unexpected<Error> fail_errno(fmt::format_string<First, Others...> format, First&& first,
                                  Others&&... others) {
  return fail_errno(
      fmt::format(format, std::forward<First>(first), std::forward<Others>(others)...));
}

}  // namespace quarry::base

// All modules use these names without `base::`.
namespace quarry {
using base::Error;
using base::ErrorCode;
using base::fail;
using base::fail_errno;
using base::Result;
}  // namespace quarry

// Evaluates EXPRESSION, a Result. If the result is an error, returns this error from the enclosing
// function.
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
