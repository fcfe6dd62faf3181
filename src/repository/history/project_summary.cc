#include "quarry/repository/project_summary.h"

#include <sys/stat.h>

#include <cerrno>

#include "repository_state.h"
#include "timeline_rows.h"

namespace quarry::repository {

namespace {

// Maximum number of rows of the timeline that are searched for a check-in.
constexpr int kMaxRows = 10'000;

std::optional<base::UnixMillis> last_check_in(Repository::State& state) {
  Query rows = state.database.query(
      "SELECT objid, type, mtime, (SELECT uuid FROM blob WHERE rid=objid)"
      " FROM event INDEXED BY event_i1 ORDER BY mtime DESC");
  for (int row = 0; row < kMaxRows && rows.step(); ++row) {
    if (rows.text(1) != "ci" || !is_shown(state, rows.integer(0), rows.text(3))) continue;
    return base::from_julian_day(rows.real(2));
  }
  return std::nullopt;
}

ProjectSummary summary(Repository::State& state) {
  Settings settings(state);
  const auto nobody = settings.find_user("nobody");
  return {.name = settings.get("project-name").value_or(""),
          .description = settings.get("project-description").value_or(""),
          .last_check_in = last_check_in(state),
          .rights = nobody ? settings.all_capabilities(*nobody) : std::string(),
          .is_listed = settings.get_int("repolist-skin", 0) != 2};
}

}  // namespace

bool ProjectSummary::may_be_read() const {
  return rights.find_first_of("oias") != std::string::npos;
}

bool ProjectSummary::may_be_cloned() const {
  return rights.find_first_of("gas") != std::string::npos;
}

Result<ProjectSummary> summary_of(Repository& repository) {
  return guarded(repository.internals(), [&](RepositoryState& state) { return summary(state); });
}

Result<ProjectSummary> read_summary(const std::filesystem::path& path, const OpenOptions& options) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                fail_errno(path.string()).error().message);
  }
  return guarded(path, [&] {
    Repository::State state(path, options);
    // With these numbers, the destructor detects whether the file was replaced, and then does not
    // delete the log of the new file.
    state.device = status.st_dev;
    state.inode = status.st_ino;
    state.wait_for_checkpoint();
    state.database.query("BEGIN").run();
    auto result = summary(state);
    state.database.end_transaction("COMMIT");
    return result;
  });
}

}  // namespace quarry::repository
