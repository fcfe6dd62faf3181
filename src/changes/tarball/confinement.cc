#include "confinement.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "quarry/base/spawn.h"

namespace quarry::changes {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif
#else
constexpr bool kIsSanitized = false;
#endif

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kMachine = 0;  // no filter: this machine's system calls are not known
#endif

/// Allowed system calls: for memory, for open files and for exiting. newfstatat is included because
/// glibc implements fstat() with it.
constexpr auto kAllowed = std::to_array<std::uint32_t>({
    SYS_read,         SYS_write,      SYS_pread64,    SYS_pwrite64,      SYS_lseek,
    SYS_fstat,        SYS_newfstatat, SYS_brk,        SYS_mmap,          SYS_munmap,
    SYS_mremap,       SYS_mprotect,   SYS_madvise,    SYS_futex,         SYS_getrandom,
    SYS_rt_sigreturn, SYS_exit,       SYS_exit_group, SYS_clock_gettime,
});

/// Prevents core files. With a limit of 0, the kernel would still start a core_pattern program.
constexpr rlim_t kNoCore = 1;

bool filter_calls() {
  std::vector<sock_filter> program;
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const std::uint32_t number : kAllowed) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool limit(int what, rlim_t value) {
  const rlimit both{value, value};
  return ::setrlimit(static_cast<__rlimit_resource>(what), &both) == 0;
}

/// Returns the size of this process's address space in bytes.
rlim_t memory_in_use() {
  unsigned long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void forget_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

bool confine(std::span<const int> kept, const Confinement& bounds) {
  forget_signals();
  base::close_all_but(kept);
  const rlim_t in_use = memory_in_use();
  bool is_confined = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
                     ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && limit(RLIMIT_CORE, kNoCore) &&
                     limit(RLIMIT_CPU, static_cast<rlim_t>(bounds.processor_time.count()));
  if (kIsSanitized) return is_confined;
  is_confined = is_confined && limit(RLIMIT_AS, in_use + bounds.memory) && limit(RLIMIT_NOFILE, 0);
  return is_confined && (kMachine == 0 || filter_calls());
}

}  // namespace quarry::changes
