#include "backtrace.h"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>

#include "quarry/base/fd.h"

namespace quarry::master {
namespace {

using base::ErrorCode;
using base::fail;
using std::chrono::steady_clock;

// A process that does not stop is asleep in the kernel, on a dead disk say, for who knows how long.
constexpr std::chrono::milliseconds kPatience{500};

struct DwflDeleter {
  void operator()(Dwfl* dwfl) const { ::dwfl_end(dwfl); }
};
using DwflPtr = std::unique_ptr<Dwfl, DwflDeleter>;

std::string dwfl_trouble(const char* what) {
  return fmt::format("{}: {}", what, ::dwfl_errmsg(-1));
}

pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
  char state = 0;
  pid_t parent = -1;
  fields >> state >> parent;
  return parent;
}

std::string yama_scope() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  std::string scope;
  if (!(file >> scope) || scope == "0") return {};
  return fmt::format(", and /proc/sys/kernel/yama/ptrace_scope is {}", scope);
}

std::unexpected<base::Error> ptrace_failed(int error) {
  if (error != EPERM) return fail(ErrorCode::kIo, fmt::format("ptrace: {}", std::strerror(error)));
  return fail(ErrorCode::kDenied,
              fmt::format("ptrace: {} (quarryd lacks CAP_SYS_PTRACE{}: see process.dumpable and "
                          "request_slowlog_timeout in quarry.conf(5))",
                          std::strerror(error), yama_scope()));
}

/// Whether ptrace(2) would be permitted, before the long work. The kernel asks the same of who
/// opens the memory.
base::Result<void> may_look_into(pid_t pid) {
  const base::Fd memory(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (memory) return {};
  return ptrace_failed(errno == EACCES ? EPERM : errno);
}

/// A process that stands still until this goes.
class Stopped {
 public:
  static base::Result<Stopped> stop(pid_t pid) {
    if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) {
      return ptrace_failed(errno);
    }
    Stopped stopped(pid);
    if (::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0) return ptrace_failed(errno);
    QUARRY_TRY(stopped.wait());
    return stopped;
  }
  Stopped(Stopped&& other) noexcept : pid_(std::exchange(other.pid_, -1)), signal_(other.signal_) {}
  Stopped& operator=(Stopped&&) = delete;
  // A process that does not stand still cannot be let go either; the end of this one does that.
  ~Stopped() {
    if (pid_ > 0) ::ptrace(PTRACE_DETACH, pid_, nullptr, signal_);
  }

 private:
  explicit Stopped(pid_t pid) : pid_(pid) {}

  base::Result<void> wait() {
    const auto deadline = steady_clock::now() + kPatience;
    while (steady_clock::now() < deadline) {
      int status = 0;
      const pid_t changed = ::waitpid(pid_, &status, WNOHANG | __WALL);
      if (changed == pid_ && WIFSTOPPED(status)) {
        // A signal that arrived meanwhile is not to be lost.
        const bool is_interrupt = (status >> 16) == PTRACE_EVENT_STOP;
        signal_ = is_interrupt ? 0 : WSTOPSIG(status);
        return {};
      }
      if (changed != 0) return fail(ErrorCode::kIo, "it ended meanwhile");
      const timespec pause{0, 200'000};
      ::nanosleep(&pause, nullptr);
    }
    return fail(ErrorCode::kIo, "it did not stop: it is asleep in the kernel");
  }

  pid_t pid_;
  long signal_ = 0;
};

struct Address {
  Dwarf_Addr value;
  bool is_of_call;  // a return address: the call is before it
};

struct Collected {
  std::vector<Address> addresses;
  std::size_t depth;
};

int collect(Dwfl_Frame* frame, void* argument) {
  auto& collected = *static_cast<Collected*>(argument);
  Dwarf_Addr pc = 0;
  bool is_activation = false;
  if (!::dwfl_frame_pc(frame, &pc, &is_activation)) return DWARF_CB_ABORT;
  collected.addresses.push_back({pc, !is_activation});
  return collected.addresses.size() < collected.depth ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/// Reads what unwinding will need of a module.
int prepare_module(Dwfl_Module* module, void** /*data*/, const char* /*name*/, Dwarf_Addr /*start*/,
                   void* /*argument*/) {
  Dwarf_Addr bias = 0;
  ::dwfl_module_eh_cfi(module, &bias);
  ::dwfl_module_getsymtab(module);
  return DWARF_CB_OK;
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && plain ? plain.get() : name;
}

std::string described(Dwfl* dwfl, const Address& address) {
  const Dwarf_Addr at = address.value - (address.is_of_call ? 1 : 0);
  std::string line = fmt::format("[0x{:016x}]", address.value);
  Dwfl_Module* module = ::dwfl_addrmodule(dwfl, at);
  if (module == nullptr) return line + " ?";
  const char* name = ::dwfl_module_addrname(module, at);
  line += name != nullptr ? " " + demangled(name) : " ?";
  int number = 0;
  Dwfl_Line* source = ::dwfl_module_getsrc(module, at);
  const char* file = source != nullptr
                         ? ::dwfl_lineinfo(source, nullptr, &number, nullptr, nullptr, nullptr)
                         : nullptr;
  if (file != nullptr) return line + fmt::format(" {}:{}", file, number);
  const char* object =
      ::dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  return object != nullptr ? line + fmt::format(" ({})", object) : line;
}

// Debug information of other files is neither looked for on the disk nor asked of a server.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                  GElf_Word, char**) {
  return -1;
}

constexpr Dwfl_Callbacks kCallbacks{&::dwfl_linux_proc_find_elf, &no_debug_file, nullptr, nullptr};

base::Result<DwflPtr> modules_of(pid_t pid) {
  DwflPtr dwfl(::dwfl_begin(&kCallbacks));
  if (!dwfl) return fail(ErrorCode::kIo, dwfl_trouble("libdw"));
  if (::dwfl_linux_proc_report(dwfl.get(), pid) != 0 ||
      ::dwfl_report_end(dwfl.get(), nullptr, nullptr) != 0) {
    return fail(ErrorCode::kIo, dwfl_trouble("cannot see what it has mapped"));
  }
  ::dwfl_getmodules(dwfl.get(), prepare_module, nullptr, 0);
  return dwfl;
}

}  // namespace

base::Result<Backtrace> backtrace_of(pid_t pid, pid_t parent, std::size_t depth) {
  if (parent_of(pid) != parent) return fail(ErrorCode::kIo, "it ended meanwhile");
  Collected collected{{}, depth};
  Backtrace backtrace;
  DwflPtr dwfl;
  QUARRY_TRY(may_look_into(pid));
  QUARRY_TRY_ASSIGN(dwfl, modules_of(pid));
  {
    QUARRY_TRY_ASSIGN(const Stopped stopped, Stopped::stop(pid));
    const auto begin = steady_clock::now();
    if (::dwfl_linux_proc_attach(dwfl.get(), pid, /*assume_ptrace_stopped=*/true) != 0) {
      return fail(ErrorCode::kIo, dwfl_trouble("libdw cannot attach"));
    }
    ::dwfl_getthread_frames(dwfl.get(), pid, collect, &collected);
    backtrace.stood_still =
        std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - begin);
  }
  if (collected.addresses.empty())
    return fail(ErrorCode::kIo, dwfl_trouble("cannot read its stack"));
  for (const Address& address : collected.addresses) {
    backtrace.frames.push_back(described(dwfl.get(), address));
  }
  return backtrace;
}

}  // namespace quarry::master
