#include "mail_retry.h"

#include <algorithm>
#include <cstdint>

#include "quarry/backoffice/alerts.h"
#include "quarry/repository/repository_name.h"

namespace quarry::app {
namespace {

// Limit on the delay, so that email is retried within an hour even if the clock is set back.
constexpr std::chrono::seconds kMaxRetryDelay = std::chrono::hours(1);

}  // namespace

std::optional<std::chrono::seconds> retry_delay(const BackofficeArguments& arguments,
                                                repository::Repository& repository) {
  const auto wait = backoffice::until_next_mail(repository, {.methods = arguments.mail_methods});
  if (!wait || !*wait) return std::nullopt;
  const std::chrono::seconds lease(std::max<std::int64_t>(arguments.lease_time, 1));
  return std::clamp(**wait, std::min(lease, kMaxRetryDelay), kMaxRetryDelay);
}

void request_retry(const BackofficeArguments& arguments, repository::Repository& repository,
                   const std::string& name, const control::Channel& master) {
  if (master.fd() < 0) return;
  const auto delay = retry_delay(arguments, repository);
  if (!delay) return;
  master.send({control::Verb::kBackoffice, repository::number_of(name),
               static_cast<std::uint16_t>(delay->count())});
}

}  // namespace quarry::app
