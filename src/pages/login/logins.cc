#include "logins.h"

#include <utility>

namespace quarry::pages {

Logins::Logins(scoreboard::LoginMemory* memory, std::uint64_t allowed, PageNames pages,
               bool trust_remote_user)
    : pages_(std::move(pages)), trust_remote_user_(trust_remote_user) {
  if (memory != nullptr && allowed > 0) limiter_.emplace(*memory, allowed);
}

std::expected<std::unique_ptr<LoginAttempt>, Refusal> Logins::begin(const PageRequest& request,
                                                                    const Target& target) {
  auto guesses = guesses_in(request, target, pages_, trust_remote_user_);
  if (!guesses) return std::unexpected(std::move(guesses.error()));
  if (guesses->empty()) return nullptr;
  auto attempt =
      std::make_unique<LoginAttempt>(request, std::move(*guesses), limiter_ ? &*limiter_ : nullptr);
  if (auto refusal = attempt->begin()) return std::unexpected(std::move(*refusal));
  return attempt;
}

}  // namespace quarry::pages
