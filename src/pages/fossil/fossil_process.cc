#include "fossil_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/escape.h"
#include "quarry/base/fossil_environment.h"
#include "quarry/base/spawn.h"

namespace quarry::pages {
namespace {

struct Pipe {
  base::Fd reading;
  base::Fd writing;
};

base::Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno("cannot make a pipe");
  return Pipe{base::Fd(ends[0]), base::Fd(ends[1])};
}

void do_not_block(const base::Fd& fd) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
}

/// The output of the command WORDS within a few seconds. Errors: kIo.
base::Result<std::string> said_by(std::vector<std::string> words) {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPatience{5000};
  constexpr std::size_t kMaxOutput = std::size_t{64} << 10;
  QUARRY_TRY_ASSIGN(Pipe output, make_pipe());
  const base::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  QUARRY_TRY_ASSIGN(
      const pid_t pid,
      base::spawn({.words = std::move(words),
                   .environment = base::fossil_environment(environ),
                   .descriptors = {nothing.get(), output.writing.get(), nothing.get()}}));
  output.writing.reset();
  const auto end = steady_clock::now() + kPatience;
  std::string said;
  while (said.size() < kMaxOutput) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now());
    pollfd waiting{output.reading.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) != 1) break;
    std::array<char, 4096> buffer{};
    const ssize_t size = ::read(output.reading.get(), buffer.data(), buffer.size());
    if (size <= 0) break;
    said.append(buffer.data(), static_cast<std::size_t>(size));
  }
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return said;
}

}  // namespace

FossilStarter::Plan FossilProcess::plan(const Options& options, const ServedRepositories& served) {
  const bool is_one = !served.repository.empty();
  const auto target = std::filesystem::absolute(is_one ? served.repository : served.repositories);
  FossilStarter::Plan plan{.words = {options.program, "http", "--scgi", "--nojail", "--in",
                                     "/dev/stdin", target.string()},
                           .environment = base::fossil_environment(environ),
                           .nice = options.nice,
                           .max_memory = options.max_memory};
  // Fossil needs HOME to find its user's configuration.
  const auto is_home = [](const std::string& variable) { return variable.starts_with("HOME="); };
  const passwd* const user = ::getpwuid(::geteuid());
  if (user != nullptr && std::ranges::none_of(plan.environment, is_home)) {
    plan.environment.push_back(fmt::format("HOME={}", user->pw_dir));
  }
  return plan;
}

base::Result<FossilProcess> FossilProcess::start(FossilStarter& starter) {
  QUARRY_TRY_ASSIGN(Pipe input, make_pipe());
  QUARRY_TRY_ASSIGN(Pipe output, make_pipe());
  QUARRY_TRY_ASSIGN(Pipe errors, make_pipe());
  FossilProcess process;
  QUARRY_TRY_ASSIGN(process.pid_.number, starter.start({input.reading.get(), output.writing.get(),
                                                        errors.writing.get()}));
  process.input_ = std::move(input.writing);
  process.output_ = std::move(output.reading);
  process.errors_ = std::move(errors.reading);
  for (const base::Fd* fd : {&process.input_, &process.output_, &process.errors_}) {
    do_not_block(*fd);
  }
  return process;
}

FossilProcess::~FossilProcess() {
  if (pid() > 0) ::kill(-pid(), SIGKILL);
}

base::Result<std::string> version_of(const std::string& program) {
  constexpr std::string_view kBegin = "This is fossil version ";
  QUARRY_TRY_ASSIGN(const std::string answer, said_by({program, "version"}));
  if (!answer.starts_with(kBegin)) {
    return base::fail(base::ErrorCode::kInvalid,
                      fmt::format("{} is no fossil: its version is \"{}\"", program,
                                  base::printable(answer, 60)));
  }
  const std::string_view rest = std::string_view(answer).substr(kBegin.size());
  return base::printable(rest.substr(0, rest.find_first_of(" \n")), 20);
}

base::Result<PageNames> pages_of(const std::string& program) {
  QUARRY_TRY_ASSIGN(std::string answer, said_by({program, "help", "--www"}));
  PageNames names;
  std::istringstream words(std::move(answer));
  for (std::string word; words >> word;) {
    if (word.starts_with('/')) names.insert(word.substr(1, word.find('/', 1) - 1));
  }
  if (names.contains("login") && names.contains("timeline")) return names;
  return base::fail(base::ErrorCode::kInvalid,
                    fmt::format("{} does not tell which pages it has", program));
}

}  // namespace quarry::pages
