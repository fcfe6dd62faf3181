#include "fossil_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "quarry/base/command.h"
#include "quarry/base/escape.h"
#include "quarry/base/fossil_environment.h"
#include "quarry/base/pipe.h"
#include "quarry/base/spawn.h"
#include "quarry/pages/pages.h"

namespace quarry::pages {
namespace {

/// Runs the command WORDS, with a timeout of a few seconds, and returns its output. Errors:
/// kNotFound, kIo.
Result<std::string> output_of(std::vector<std::string> words) {
  QUARRY_TRY_ASSIGN(auto end, base::run_command({.words = std::move(words),
                                                 .environment = base::fossil_environment(environ),
                                                 .timeout = std::chrono::seconds(5),
                                                 .max_output = std::size_t{64} << 10}));
  return std::move(end.output);
}

base::Confinement confinement_of(const Options& options, const ServedRepositories& served) {
  // Resolve links, because SQLite follows them. Make the whole folder writable, because SQLite
  // creates files beside the repository.
  std::error_code error;
  const auto folder = served.repository.empty()
                          ? served.repositories
                          : std::filesystem::canonical(served.repository, error).parent_path();
  base::Confinement confinement{.writable = {folder, "/dev/null"},
                                .executable = {base::find_program(options.program)}};
  std::ranges::copy(options.allow_write, std::back_inserter(confinement.writable));
  std::ranges::copy(options.allow_execute, std::back_inserter(confinement.executable));
  return confinement;
}

}  // namespace

FossilStarter::Plan FossilProcess::plan(const Options& options, const ServedRepositories& served) {
  const bool is_one = !served.repository.empty();
  const auto target = std::filesystem::absolute(is_one ? served.repository : served.repositories);
  FossilStarter::Plan plan{.words = {options.program, "http", "--scgi", "--nojail", "--in",
                                     "/dev/stdin", target.string()},
                           .environment = base::fossil_environment(environ),
                           .nice = options.nice,
                           .max_memory = options.max_memory,
                           .confinement = std::nullopt};
  if (options.is_confined && base::has_landlock()) {
    plan.confinement = confinement_of(options, served);
    plan.starts_programs = !options.allow_execute.empty();
  }
  // Add HOME if it is missing, because fossil needs it to find its user's configuration.
  const auto is_home = [](const std::string& variable) { return variable.starts_with("HOME="); };
  const passwd* const user = ::getpwuid(::geteuid());
  if (user != nullptr && std::ranges::none_of(plan.environment, is_home)) {
    plan.environment.push_back(fmt::format("HOME={}", user->pw_dir));
  }
  return plan;
}

Result<FossilProcess> FossilProcess::start(FossilStarter& starter) {
  QUARRY_TRY_ASSIGN(auto input, base::make_pipe());
  QUARRY_TRY_ASSIGN(auto output, base::make_pipe());
  QUARRY_TRY_ASSIGN(auto errors, base::make_pipe());
  FossilProcess process;
  process.starts_programs_ = starter.starts_programs();
  QUARRY_TRY_ASSIGN(process.pid_.number, starter.start({input.reading.get(), output.writing.get(),
                                                        errors.writing.get()}));
  process.input_ = std::move(input.writing);
  process.output_ = std::move(output.reading);
  process.errors_ = std::move(errors.reading);
  for (const base::Fd* fd : {&process.input_, &process.output_, &process.errors_}) {
    ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  return process;
}

FossilProcess::~FossilProcess() {
  if (pid() > 0) kill_fossil(pid(), starts_programs_);
}

Result<std::string> version_of(const std::string& program) {
  constexpr std::string_view kBegin = "This is fossil version ";
  QUARRY_TRY_ASSIGN(const std::string answer, output_of({program, "version"}));
  if (!answer.starts_with(kBegin)) {
    return fail(ErrorCode::kInvalid, "{} is not fossil: its version is \"{}\"", program,
                base::printable(answer, 60));
  }
  const std::string_view rest = std::string_view(answer).substr(kBegin.size());
  return base::printable(rest.substr(0, rest.find_first_of(" \n")), 20);
}

Result<PageNames> pages_of(const std::string& program) {
  QUARRY_TRY_ASSIGN(std::string answer, output_of({program, "help", "--www"}));
  PageNames names;
  std::istringstream words(std::move(answer));
  for (std::string word; words >> word;) {
    if (word.starts_with('/')) names.insert(word.substr(1, word.find('/', 1) - 1));
  }
  if (names.contains("login") && names.contains("timeline")) return names;
  return fail(ErrorCode::kInvalid, "\"{} help --www\" does not list the expected pages", program);
}

}  // namespace quarry::pages
