#include "landing_rights.h"

#include <fmt/core.h>

namespace quarry::changes {

std::optional<std::string> objection_to_landing(repository::Repository& repository,
                                                const Rights& rights, const Job& job) {
  if (job.is_local) return std::nullopt;
  repository::Settings settings = repository.settings();
  const auto user = settings.find_user(job.submitter);
  if (!user) {
    return fmt::format("the submitter, {}, is no longer a user of the repository", job.submitter);
  }
  const auto nobody = settings.find_user("nobody");
  const Actor actor{.login = job.submitter,
                    .letters = settings.all_capabilities(*user) +
                               (nobody ? settings.all_capabilities(*nobody) : std::string())};
  // Do not check the reference to an approval, because the approver might have set it.
  Meta meta;
  meta.type = job.name.type;
  meta.author = job.meta.author;
  auto refused = objection(rights, meta, actor);
  if (refused) {
    *refused += fmt::format("; the rights of {} have changed since the submission", job.submitter);
  }
  return refused;
}

}  // namespace quarry::changes
