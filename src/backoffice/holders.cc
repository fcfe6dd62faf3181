#include "quarry/backoffice/holders.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <csignal>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>

#include "quarry/base/number.h"

namespace quarry::backoffice {
namespace {

constexpr std::size_t kMaxHost = 100;

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

std::int64_t number(std::string_view word) {
  return std::max<std::int64_t>(base::parse_number<std::int64_t>(word).value_or(0), 0);
}

class RealProcesses final : public ProcessTable {
 public:
  std::string host() const override {
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    struct stat space {};
    if (::stat("/proc/self/ns/pid", &space) != 0) space.st_ino = 0;
    return fmt::format("{}/{}", boot.empty() ? "unknown" : boot, space.st_ino);
  }

  std::optional<std::int64_t> started(std::int64_t pid) const override {
    if (pid <= 0 || pid > std::numeric_limits<pid_t>::max()) return std::nullopt;
    if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM) return std::nullopt;
    std::string stat;
    std::getline(std::ifstream(fmt::format("/proc/{}/stat", pid)), stat);
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos) return 0;  // the process exists, but is hidden (hidepid)
    // The name, in brackets, can contain any characters. After the name, the first word is the
    // state and the twentieth word is the start time. Zombies count as ended.
    std::string_view words = std::string_view(stat).substr(end + 1);
    const std::string_view state = take_word(words);
    if (state == "Z" || state == "X") return std::nullopt;
    for (int i = 0; i < 18; ++i) take_word(words);
    return number(take_word(words));
  }
};

}  // namespace

const ProcessTable& real_processes() {
  static const RealProcesses processes;
  return processes;
}

Holders Holders::parse(std::string_view text) {
  Holders holders;
  holders.host_ = take_word(text).substr(0, kMaxHost);
  for (Process& process : holders.processes_) {
    process.pid = number(take_word(text));
    process.started = number(take_word(text));
  }
  return holders;
}

std::string Holders::text() const {
  return fmt::format("{} {} {} {} {}", host_, processes_[0].pid, processes_[0].started,
                     processes_[1].pid, processes_[1].started);
}

const Holders::Process* Holders::find(std::int64_t pid) const {
  const auto at = std::ranges::find(processes_, pid, &Process::pid);
  return at == processes_.end() ? nullptr : &*at;
}

Holder Holders::state_of(std::int64_t pid, const ProcessTable& processes) const {
  if (pid == 0) return Holder::kGone;
  const Process* known = find(pid);
  if (known != nullptr && host_ != processes.host()) return Holder::kElsewhere;
  const auto started = processes.started(pid);
  if (known == nullptr) return started ? Holder::kAlive : Holder::kElsewhere;
  return started && *started == known->started ? Holder::kAlive : Holder::kGone;
}

Holders Holders::with(const Lease& lease, std::int64_t self, const ProcessTable& processes) const {
  Holders made;
  made.host_ = processes.host();
  const auto describe = [&](std::int64_t pid) -> Process {
    if (pid == self) return {pid, processes.started(pid).value_or(0)};
    const Process* known = pid != 0 && host_ == made.host_ ? find(pid) : nullptr;
    return known != nullptr ? *known : Process{};
  };
  made.processes_ = {describe(lease.current), describe(lease.next)};
  return made;
}

}  // namespace quarry::backoffice
