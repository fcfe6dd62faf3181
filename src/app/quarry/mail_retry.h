// Unsent email waits in the repository. These functions find out when a run has to retry it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "commands.h"
#include "quarry/control/channel.h"
#include "quarry/repository/repository.h"

namespace quarry::app {

/// Returns the delay after which REPOSITORY needs a run to retry email, or nullopt if no email
/// waits. Ignores errors, because each run reports them.
std::optional<std::chrono::seconds> retry_delay(const BackofficeArguments& arguments,
                                                repository::Repository& repository);

/// Asks MASTER to run the jobs of REPOSITORY when unsent email has to be retried. NAME is the name
/// of the repository on the server.
void request_retry(const BackofficeArguments& arguments, repository::Repository& repository,
                   const std::string& name, const control::Channel& master);

}  // namespace quarry::app
