"""Starts a program under the restrictions of a systemd unit, without systemd: restricted.py UNIT PROGRAM ARGUMENT…

Applies CapabilityBoundingSet and SystemCallFilter (with SystemCallErrorNumber=EPERM)."""

import ctypes
import errno
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

PR_SET_SECCOMP, PR_CAPBSET_DROP = 22, 24
SECCOMP_MODE_FILTER = 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # opcodes of the classic BPF
NUMBER, ARCHITECTURE, X86_64 = 0, 4, 0xC000003E
ALLOW, FAIL = 0x7FFF0000, 0x00050000


def values(unit: str, directive: str) -> list[str]:
    return [word for line in re.findall(rf"^{directive}=(.*)$", unit, re.MULTILINE) for word in line.split()]


def numbers(path: str, prefix: str) -> dict[str, int]:
    """Returns the constants in the header PATH whose names begin with PREFIX."""
    text = Path(path).read_text()
    found = re.findall(rf"^#define {prefix}(\w+)\s+(\d+)$", text, re.MULTILINE)
    return {name.lower(): int(number) for name, number in found}


def calls(words: list[str]) -> set[str]:
    """Returns the system calls in WORDS, including those in groups (@NAME)."""
    found = set()
    for word in words:
        if not word.startswith("@"):
            found.add(word)
            continue
        listing = subprocess.run(["systemd-analyze", "syscall-filter", word], capture_output=True, text=True,
                                 check=True).stdout
        # The first lines are the group's name and a comment. All other lines are system calls or groups.
        found |= calls(re.findall(r"^ +([@\w-]+)$", listing, re.MULTILINE))
    return found


def instructions(allowed: set[str]) -> bytes:
    """Returns a filter that allows the system calls ALLOWED. All other system calls fail."""
    known = numbers("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "__NR_")
    fail = (RETURN, 0, 0, FAIL | errno.EPERM)
    program = [(LOAD, 0, 0, ARCHITECTURE), (JUMP_IF_EQUAL, 1, 0, X86_64), fail, (LOAD, 0, 0, NUMBER)]
    for name in sorted(allowed & known.keys()):
        program += [(JUMP_IF_EQUAL, 0, 1, known[name]), (RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("HBBI", *each) for each in [*program, fail])


def prctl(*arguments: object) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(*arguments, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {arguments}")


def main(unit: str, program: list[str]) -> None:
    capabilities = numbers("/usr/include/linux/capability.h", "CAP_")
    kept = {word.removeprefix("CAP_").lower() for word in values(unit, "CapabilityBoundingSet")}
    for name, number in capabilities.items():
        if name not in kept:
            prctl(PR_CAPBSET_DROP, number, 0)
    bpf = instructions(calls(values(unit, "SystemCallFilter")))
    code = ctypes.create_string_buffer(bpf, len(bpf))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, struct.pack("HxxxxxxP", len(bpf) // 8, ctypes.addressof(code)))
    os.execv(program[0], program)


if __name__ == "__main__":
    main(Path(sys.argv[1]).read_text(), sys.argv[2:])
