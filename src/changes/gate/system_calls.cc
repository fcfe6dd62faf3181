#include "system_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "quarry/base/memory_file.h"

namespace quarry::changes {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
#error "the number of this architecture (linux/audit.h) has to be added here"
#endif

/// System call numbers from this value on belong to the x32 ABI on x86-64. The filter refuses all
/// of them.
constexpr std::uint32_t kOtherNumbers = 0x40000000;

constexpr auto kRefused = std::to_array<std::uint32_t>({
    // These calls can allocate memory without mapping it. Such memory is not counted, and would
    // therefore not be limited.
    SYS_memfd_create,
    SYS_memfd_secret,
    SYS_shmget,
    SYS_msgget,
    SYS_semget,
    // Not needed by builds.
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_unshare,
    SYS_setns,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fsconfig,
    SYS_mount_setattr,
    SYS_quotactl,
    SYS_syslog,
    SYS_swapon,
    SYS_swapoff,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_open_by_handle_at,
    SYS_acct,
});

}  // namespace

Result<base::Fd> gate_calls() {
  constexpr std::uint32_t kMissing = SECCOMP_RET_ERRNO | ENOSYS;
  std::vector<sock_filter> program;
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kMissing));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbers, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kMissing));
  for (const std::uint32_t number : kRefused) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, kMissing));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return base::memory_file(
      {reinterpret_cast<const char*>(program.data()), program.size() * sizeof program[0]});
}

}  // namespace quarry::changes
