// quarry clone: creates a copy of another repository.
//
// The clone is written to a temporary file, which is renamed at the end. So FILE never contains an
// incomplete clone.
#include <fmt/core.h>
#include <unistd.h>

#include <string>

#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/owner.h"
#include "common/progress.h"
#include "password.h"
#include "quarry/repository/temporary_repository.h"
#include "quarry/repository/whole_file.h"
#include "remote.h"

namespace quarry::app {
namespace {

std::string admin_of(const CloneArguments& arguments, const transport::RemoteUrl& url) {
  if (!arguments.admin_user.empty()) return arguments.admin_user;
  const bool is_a_person = !url.user.empty() && url.user != "anonymous" && url.user != "nobody";
  return is_a_person ? url.user : login_of_caller();
}

/// Writes the clone's own settings: the administrator's PASSWORD, and the URL.
Result<void> write_settings(repository::Repository& clone, const std::string& admin,
                            const std::string& password, const transport::RemoteUrl& url,
                            const RemoteArguments& arguments) {
  QUARRY_TRY_ASSIGN(repository::Receipt receipt, clone.receive());
  QUARRY_TRY(receipt.set_password(admin, password));
  QUARRY_TRY(remember(receipt, url, arguments));
  return receipt.commit();
}

/// Clones into FILE. Returns the password of the clone's administrator.
Result<std::string> fill(const std::string& file, const std::string& admin,
                         const transport::RemoteUrl& url, const RemoteArguments& arguments) {
  QUARRY_TRY(repository::init_for_clone(file, admin));
  QUARRY_TRY_ASSIGN(auto clone, repository::Repository::open(file, {.is_unfinished = true}));
  sync::ClientOptions options;
  options.clone = true;
  Progress progress(arguments.quiet);
  options.watch = {.progress =
                       [&](std::size_t done, std::size_t total) {
                         if (done == 1) progress.say("");
                         progress.show(done, total);
                         if (done == total) progress.say("computing the tables");
                       },
                   .is_interrupted = [] { return Interruption::signal() != 0; }};
  QUARRY_TRY_ASSIGN(const Conversation held, talk(*clone, url, arguments, std::move(options)));
  std::string password = random_password();
  QUARRY_TRY(write_settings(*clone, admin, password, held.url, arguments));
  QUARRY_TRY(clone->make_durable());
  if (!arguments.quiet) {
    fmt::print("project-id: {}\nserver-id:  {}\n", clone->settings().project_code(),
               clone->settings().server_code());
  }
  return password;
}

/// Checks that FILE can be created.
Result<void> check_folder(const std::string& file) {
  if (::access(repository::folder_of(file).c_str(), W_OK | X_OK) == 0) return {};
  return fail_errno(file);
}

Result<void> run(const CloneArguments& arguments) {
  QUARRY_TRY_ASSIGN(transport::RemoteUrl url, remote_url(arguments.remote.url));
  if (::access(arguments.file.c_str(), F_OK) == 0) {
    return fail(ErrorCode::kInvalid, "{} already exists", arguments.file);
  }
  QUARRY_TRY(check_folder(arguments.file));
  QUARRY_TRY(complete_password(url, arguments.remote, {}));
  const std::string admin = admin_of(arguments, url);
  QUARRY_TRY(act_as_owner_of(arguments.file));
  repository::TemporaryRepository temporary(arguments.file, "clone");
  const auto password = fill(temporary.path(), admin, url, arguments.remote);
  if (!password) return std::unexpected(temporary.with_file_name(password.error()));
  if (Interruption::signal() != 0) return fail(ErrorCode::kIo, "interrupted");
  QUARRY_TRY(temporary.move(false));
  if (!arguments.remote.quiet) {
    fmt::print("admin-user: {} (password is \"{}\")\n", admin, *password);
  }
  return {};
}

}  // namespace

int run_clone(const CloneArguments& arguments) {
  const Interruption interruption;
  const auto done = run(arguments);
  if (Interruption::signal() != 0) return exit_by_signal(Interruption::signal());
  return done ? kDone : failed(done.error());
}

}  // namespace quarry::app
