"""Tests gates with hostile change sets. tests/unit/changes/gate/run_gate.cc runs real programs in the real sandbox."""

import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import places
from support.process import PATIENCE, processes, wait_until


@dataclass
class Verdict:
    word: str
    reason: str
    output: str


def command(*words: object) -> list[str]:
    return [str(places.build_directory() / "tests" / "unit" / "changes" / "run-gate"), *map(str, words)]


def verdict_in(text: str) -> Verdict:
    word, reason, *output = text.split("\n", 2)
    return Verdict(word, reason, output[0] if output else "")


def gate(*words: object, env: dict[str, str] | None = None, **more: object) -> Verdict:
    """Runs run-gate with WORDS (options, program and arguments) and returns the verdict."""
    done = subprocess.run(command(*words), capture_output=True, text=True, timeout=PATIENCE, check=False, env=env, **more)
    assert not done.stderr, done.stderr
    return verdict_in(done.stdout)


def script(text: str, *options: object, env: dict[str, str] | None = None) -> Verdict:
    return gate(*options, "sh", "-c", text, env=env)


def python(text: str, *options: object) -> Verdict:
    return gate(*options, "python3", "-I", "-c", text)


@pytest.fixture
def mark() -> Iterator[str]:
    """Yields a unique argument for the gate. Fails at the end of the test if a process with this argument is still
    running."""
    word = f"quarry-test-{uuid.uuid4()}"
    yield word
    assert not processes(word)


@pytest.fixture
def tree(everybodys: Path) -> Path:
    folder = everybodys / "merged"
    (folder / "sub").mkdir(parents=True)
    (folder / "plain").write_text("text\n")
    places.executable(folder / "sub" / "run.sh", "#!/bin/sh\necho it runs\n")
    (folder / "sub" / "link").symlink_to("../plain")
    (folder / "große Datei").write_bytes(bytes(range(256)) * 4000)
    return folder


@pytest.mark.parametrize(("end", "word", "reason"), [
    ("exit 0", "land", ""), ("exit 99", "skip", "99"), ("exit 100", "fail", "100"), ("exit 111", "later", "111"),
    ("exit 1", "fail", "1"), ("exit 127", "fail", "127"), ("exit 255", "fail", "255"),
    ("kill -SEGV $$", "fail", "139 (signal 11)")])
def test_exit_codes(end: str, word: str, reason: str):
    verdict = script(f"echo it says; {end}")
    assert verdict.word == word and verdict.output == "it says\n"
    assert reason in verdict.reason


def test_a_missing_gate():
    for program in ("no-such-program", "/no/such/program"):
        verdict = gate(program)
        assert verdict.word == "error" and program in verdict.reason


def test_the_gate_sees_the_merged_tree(tree: Path):
    verdict = script("cat plain; ./sub/run.sh; readlink sub/link; wc -c 'große Datei'; stat -c %a plain sub/run.sh; "
                     "cat $QUARRY_FILES; find . -newermt 2001-01-01 -type f | wc -l", "--tree", tree)
    assert verdict.word == "land"
    assert verdict.output == "text\nit runs\n../plain\n1024000 große Datei\n644\n755\na\nd/b\n3\n"


def test_a_tree_with_any_names(tree: Path):
    """Names in old check-ins are not always UTF-8."""
    names = [b"\xe4 in Latin 1", b"\xff" * 200, b"- *?[", b"x" * 250, b"a/" * 100 + b"\xfe"]
    for name in names:
        path = os.fsencode(tree) + b"/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_bytes(name)
    (tree / "out").symlink_to("/etc/passwd")
    verdict = python("import os\nfor top, _, files in os.walk(b'.'):\n for name in files:\n"
                     "  path = os.path.join(top, name)\n"
                     "  if os.path.islink(path): print(os.readlink(path).decode())\n"
                     "  elif open(path, 'rb').read() == path[2:]: print('same')", "--tree", tree)
    assert verdict.word == "land", verdict
    assert sorted(verdict.output.split()) == ["../plain", "/etc/passwd", *["same"] * len(names)]


def test_a_gate_does_not_inherit_the_environment():
    verdict = script("env", env={**os.environ, "SECRET_TOKEN": "xyzzy"})
    names = {line.partition("=")[0] for line in verdict.output.splitlines()}
    assert names == {"PATH", "LANG", "USER", "LOGNAME", "HOME", "TMPDIR", "PWD", "QUARRY_CHANGE_SET", "QUARRY_BRANCH",
                     "QUARRY_TIP", "QUARRY_AUTHOR", "QUARRY_FILES"}


def test_a_gate_inherits_no_descriptors(tmp_path: Path):
    with (tmp_path / "repository").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        done = subprocess.run(command("python3", "-I", "-c", "import os\nprint(sorted(os.listdir('/proc/self/fd')))"),
                              capture_output=True, text=True, timeout=PATIENCE, check=True, pass_fds=[file.fileno()])
    assert verdict_in(done.stdout).output == "['0', '1', '2', '3']\n"  # 3: the listed folder


def test_a_gate_cannot_read_the_repository(everybodys: Path):
    repository = everybodys / "project.fossil"
    repository.write_text("secret")
    repository.chmod(0o644)
    outside = f"/proc/{os.getpid()}/root{repository}"
    verdict = script(f"cat {repository} {outside}; cat /etc/shadow; ls /root /home /srv /run /sys; find / -name '*.fossil' "
                     "-not -path '/proc/*' 2>&1 | grep project; true")
    assert verdict.word == "land"
    assert "secret" not in verdict.output and verdict.output.count("No such file or directory") >= 7


def test_a_gate_that_could_read_the_repository_is_refused(tmp_path: Path):
    verdict = gate("--readable", tmp_path, "--hidden", tmp_path / "project.fossil", "true")
    assert verdict.word == "error" and "project.fossil" in verdict.reason


def test_further_readable_paths(everybodys: Path):
    (everybodys / "tool").write_text("for the gate")
    verdict = script(f"cat {everybodys}/tool; echo no > {everybodys}/tool", "--readable", everybodys)
    assert verdict.output.startswith("for the gate") and "Read-only file system" in verdict.output
    assert (everybodys / "tool").read_text() == "for the gate"


def test_a_gate_cannot_write_outside_its_folder(everybodys: Path):
    victim = everybodys / "victim"
    victim.write_text("untouched")
    victim.chmod(0o666)
    verdict = script(f"for at in / /usr/bin /etc /dev /proc/sys/kernel /var {everybodys}; do "
                     "echo x > $at/written && echo WRITTEN $at; done; "
                     f"echo x > {victim} && echo WRITTEN; mkdir -p {everybodys}; chmod 777 /usr && echo WRITTEN; "
                     "echo x > /tmp/mine && echo x > /gate/mine && echo x > mine && echo x > /dev/shm/mine && echo mine")
    assert "WRITTEN" not in verdict.output and verdict.output.endswith("mine\n")
    assert victim.read_text() == "untouched" and not (everybodys / "written").exists()


def test_a_gate_has_no_privileges():
    text = """
import os
status = open("/proc/self/status").read()
print(*[line.split()[1] for line in status.splitlines() if line.startswith(("CapEff", "CapBnd", "NoNewPrivs"))])
for call in (lambda: os.setuid(0), lambda: os.chroot("/"), lambda: os.chown("/gate/tree", 0, 0),
             lambda: os.mknod("/gate/tmp/device", 0o20666, os.makedev(1, 1))):
    try:
        call()
        print("it may")
    except OSError:
        pass
"""
    assert python(text).output == "0000000000000000 0000000000000000 1\n"


def test_some_system_calls_fail():
    text = """
import ctypes, errno, mmap
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    ctypes.set_errno(0)
    return "it may" if libc.syscall(*arguments) >= 0 else errno.errorcode[ctypes.get_errno()]
import platform
numbers = {"x86_64": dict(clone=56, unshare=272, memfd_create=319, keyctl=250, shmget=29, bpf=321),
           "aarch64": dict(clone=220, unshare=97, memfd_create=279, keyctl=219, shmget=194, bpf=280)}[platform.machine()]
for name, arguments in dict(unshare=[0x10000000], memfd_create=[b"x", 0], keyctl=[0, -1, 1], shmget=[0, 4096, 0o1600],
                            bpf=[0, 0, 0]).items():
    print(name, call(numbers[name], *arguments))
print("clone", call(numbers["clone"], 0x10000000 | 17, 0, 0, 0, 0))
"""
    lines = python(text).output.splitlines()
    assert lines[:5] == ["unshare ENOSYS", "memfd_create ENOSYS", "keyctl ENOSYS", "shmget ENOSYS", "bpf ENOSYS"]
    assert lines[5].startswith("clone E")


def test_a_gate_has_no_network():
    with socket.socket() as server, socket.socket(socket.AF_UNIX) as local:
        server.bind(("127.0.0.1", 0))
        server.listen()
        local.bind(f"\0quarry-test-{os.getpid()}")  # abstract sockets belong to the network namespace
        local.listen()
        text = f"""
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", {server.getsockname()[1]})),
                        (socket.AF_INET, ("192.0.2.1", 80)), (socket.AF_UNIX, "\\0quarry-test-{os.getpid()}")):
    try:
        socket.socket(family).connect(address)
        print("connected")
    except OSError as error:
        print(type(error).__name__, error.errno)
"""
        verdict = python(text)
        assert verdict.output == "ConnectionRefusedError 111\nOSError 101\nConnectionRefusedError 111\n"
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_other_processes_cannot_be_seen(mark: str):
    verdict = script(f"ls /proc | grep -c '^[0-9]*$'; kill -9 -1; kill -9 {os.getpid()} {os.getppid()}", "--processes", 20)
    assert int(verdict.output.split()[0]) < 10
    assert verdict.reason.endswith("(signal 9)") or "No such process" in verdict.output


def test_a_fork_bomb(mark: str):
    bomb = f"import os # {mark}\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
    running = subprocess.Popen(command("--timeout", 4000, "--processes", 40, "python3", "-I", "-c", bomb),
                               stdout=subprocess.PIPE, text=True)
    counts = []

    def has_ended() -> bool:
        counts.append(len(processes(mark)))
        return running.poll() is not None
    wait_until(has_ended, "the end of the gate", pause=0.05)
    verdict = verdict_in(running.communicate(timeout=PATIENCE)[0])
    assert verdict.word == "fail" and verdict.reason == "the gate was killed: it took more than 4 s (changes.gate_timeout)"
    # The 40 allowed processes, run-gate, bwrap, and the first process in the sandbox can run at the same time.
    assert 10 < max(counts) <= 44


def test_a_fork_bomb_does_not_affect_other_gates(mark: str):
    bomb = f"import os # {mark}\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
    with subprocess.Popen(command("--timeout", 20_000, "--processes", 30, "python3", "-I", "-c", bomb),
                          stdout=subprocess.PIPE, text=True) as running:
        wait_until(lambda: len(processes(mark)) > 25, "the gate's processes")
        assert script("echo a second one; for i in 1 2 3 4 5; do sleep 0.01 & done; wait", "--processes", 30).word == "land"
        running.send_signal(signal.SIGTERM)
        assert verdict_in(running.communicate(timeout=PATIENCE)[0]).word == "interrupted"


def test_a_gate_that_ignores_signals_is_killed_after_its_timeout(mark: str):
    verdict = gate("--timeout", 1500, "sh", "-c", "yes", mark)
    assert verdict.word == "fail" and len(verdict.output) < 70_000
    verdict = script(f"trap '' TERM HUP INT; echo started; while :; do sleep 1; done # {mark}", "--timeout", 1500)
    assert verdict.word == "fail" and "1500 ms" in verdict.reason and verdict.output == "started\n"


@pytest.mark.parametrize("options", [(), ("--without-sandbox",)])
def test_background_processes_end_with_the_gate(mark: str, options: tuple[str, ...]):
    start = time.monotonic()
    verdict = gate(*options, "sh", "-c", "setsid sh -c 'trap \"\" TERM HUP; sleep 300; : $0' \"$0\" & (sleep 300 &); echo done", mark)
    assert (verdict.word, verdict.output) == ("land", "done\n")
    assert time.monotonic() - start < PATIENCE


def test_processor_time_is_limited(mark: str):
    verdict = script(f"while :; do :; done # {mark}", "--processor-time", 1)
    assert verdict.word == "fail" and "(signal " in verdict.reason


def test_disk_space_is_limited():
    verdict = script("cat /dev/zero > one; ls -s one > /dev/stderr; for i in 1 2 3; do cat /dev/zero > /tmp/$i; done; "
                     "df --output=size /gate | tail -1", "--disk", 4 << 20)
    assert verdict.word == "land" and "No space left on device" in verdict.output
    assert verdict.output.split()[-1] == "4096"
    assert "No space left" in script("cat /dev/zero > /dev/shm/x; true").output


def test_a_tree_larger_than_the_disk_limit(tree: Path):
    verdict = script("echo never", "--tree", tree, "--disk", 500_000)
    assert verdict.word == "fail" and "changes.gate_disk" in verdict.output and "never" not in verdict.output


def test_memory_of_a_process_is_limited():
    text = "import sys\ntry:\n    x = bytearray(600 << 20)\n    print('it may')\nexcept MemoryError:\n    sys.exit('refused')\n"
    verdict = python(text, "--addresses", 300 << 20)
    assert (verdict.word, verdict.output) == ("fail", "refused\n")


@pytest.mark.parametrize("way", ["bytearray(10 << 20)", "mmap.mmap(-1, 10 << 20)"])
def test_memory_of_all_processes_is_limited(mark: str, way: str):
    text = f"""
import mmap, os, time
for number in range(20):
    if os.fork() == 0:
        x = {way}
        for at in range(0, len(x), 4096): x[at] = 1
        time.sleep(300)
os.wait()  # {mark}
"""
    verdict = python(text, "--memory", 100 << 20)
    assert (verdict.word, verdict.reason) == ("fail", f"the gate was killed: it used more than {100 << 20} bytes of memory "
                                                      "(changes.gate_memory)")
    assert script("head -c 60000000 /dev/zero > x; sleep 300", "--memory", 50_000_000).reason.endswith("(changes.gate_memory)")


def test_the_number_of_files_is_limited():
    verdict = python("for number in range(10**7): open(f'{number % 100000}.{number}', 'w').close()", "--files", 5000)
    assert (verdict.word, verdict.reason) == ("fail", "the gate was killed: it created more than 5000 files")


def test_priority_and_oom_score():
    verdict = script("cat /proc/self/oom_score_adj; nice")
    assert verdict.output == "1000\n10\n" or verdict.output.startswith("1000\n")


def test_long_output_is_shortened():
    verdict = script("echo first; yes flood | head -c 48000000; echo last")
    assert verdict.word == "land" and len(verdict.output) < 70_000
    assert verdict.output.startswith("first\nflood\n") and verdict.output.endswith("flood\nlast\n")
    assert "bytes omitted]" in verdict.output


def test_an_interrupted_gate_leaves_no_processes(mark: str):
    with subprocess.Popen(command("sh", "-c", "trap '' TERM; echo begun; sleep 300; :", mark), stdout=subprocess.PIPE,
                          text=True) as running:
        wait_until(lambda: len(processes(mark)) >= 4, "the gate's processes")
        running.send_signal(signal.SIGTERM)
        verdict = verdict_in(running.communicate(timeout=PATIENCE)[0])
    assert verdict.word == "interrupted"


def test_a_gate_dies_with_its_parent(mark: str):
    with subprocess.Popen(command("sh", "-c", "trap '' TERM HUP; sleep 300; :", mark), stdout=subprocess.DEVNULL) as running:
        wait_until(lambda: len(processes(mark)) >= 4, "the gate's processes")
        running.kill()
    wait_until(lambda: not processes(mark), "the end of the gate's processes")


def test_without_bubblewrap_no_gate_is_run(tmp_path: Path):
    verdict = script("echo never", env={**os.environ, "PATH": str(tmp_path)})
    assert verdict.word == "error" and "apt-get install bubblewrap" in verdict.reason


def test_the_error_of_bwrap_is_shown(everybodys: Path):
    # This substitute fails like bwrap on a kernel without user namespaces.
    (everybodys / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    (everybodys / "bwrap").chmod(0o755)
    verdict = script("echo never", env={**os.environ, "PATH": f"{everybodys}:{os.environ['PATH']}"})
    assert verdict.word == "error"
    assert verdict.reason == "cannot set up the sandbox of the gate: bwrap: No permissions to create new namespace"


def test_without_a_sandbox(tree: Path, mark: str):
    verdict = script(f"pwd; cat plain; cat $QUARRY_FILES; env | grep -c SECRET; exit 99 # {mark}", "--without-sandbox",
                     "--tree", tree, env={**os.environ, "SECRET_TOKEN": "xyzzy"})
    folder, rest = verdict.output.split("\n", 1)
    assert (verdict.word, rest) == ("skip", "text\na\nd/b\n0\n")
    assert folder.endswith("/tree") and not Path(folder).exists()


@pytest.mark.parametrize("number", ["0", "KILL", "STOP"])
def test_without_a_sandbox_the_timeout_kills_all_processes(mark: str, number: str):
    """Runs run-gate as `nobody` if the test runs as root. Otherwise, the gate's user could not send signals to the
    gate's parent."""
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    verdict = gate("--without-sandbox", "--timeout", 1500, "sh", "-c",
                   f"trap '' TERM; setsid sh -c 'sleep 300; : $0' \"$0\" & kill -{number} $PPID; sleep 300; :", mark, **as_nobody)
    assert verdict.word == "fail" and ("137" if number == "KILL" else "1500 ms") in verdict.reason


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_without_a_sandbox_an_interrupted_or_killed_daemon_leaves_no_processes(mark: str, number: int):
    with subprocess.Popen(command("--without-sandbox", "sh", "-c", "setsid sh -c 'sleep 300; : $0' \"$0\" & sleep 300; :", mark),
                          stdout=subprocess.DEVNULL) as running:
        wait_until(lambda: len(processes(mark)) >= 3, "the gate's processes")
        running.send_signal(number)
    wait_until(lambda: not processes(mark), "the end of all processes")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_as_another_user(tree: Path):
    own = script("echo $(id -u); sleep 0", "--user", "daemon", "--tree", tree)
    assert own.output == "1000\n"
    verdict = script("id -un", "--user", "daemon", "--without-sandbox")
    assert verdict.output == "daemon\n"
    assert script("true", "--user", "root").word == "error"


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can become another user")
def test_as_an_unprivileged_user(tree: Path):
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--",
                           *command("--tree", tree, "sh", "-c", "cat plain")], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert verdict_in(done.stdout).word == "land" and verdict_in(done.stdout).output == "text\n"
