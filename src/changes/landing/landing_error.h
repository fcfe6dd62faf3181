// The reason why a check-in could not be computed: the change set was refused, or an error
// occurred.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "quarry/base/result.h"
#include "quarry/changes/landing.h"

namespace quarry::changes {

struct LandingError {
  // Implicit constructors, so that QUARRY_TRY converts both kinds of failures.
  LandingError(Error error) : code(error.code), message(std::move(error.message)) {}
  LandingError(Refusal refusal)
      : kind(refusal.kind), message(std::move(refusal.reason)), log(std::move(refusal.log)) {}

  bool is_refusal() const { return kind.has_value(); }
  Refusal refusal() && { return {*kind, std::move(message), std::move(log)}; }
  Error error() && { return {code, std::move(message)}; }

  std::optional<RefusalKind> kind;  // nullopt for an error
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;
  std::string log;
};

template <typename T>
using Attempt = std::expected<T, LandingError>;

inline std::unexpected<LandingError> refuse(RefusalKind kind, std::string reason,
                                            std::string log = {}) {
  return std::unexpected<LandingError>(Refusal{kind, std::move(reason), std::move(log)});
}

}  // namespace quarry::changes
