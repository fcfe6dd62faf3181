"""A systemd-nspawn container with its own network."""

import os
import signal
import subprocess
import time
from pathlib import Path

from .process import PATIENCE, Process, children, wait_until

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "USER": "root",
               "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}

#: Files in /proc that systemd-nspawn hides. They must be visible, because otherwise the kernel does not allow a new
#: mount of /proc.
HIDDEN = ("/proc/kmsg", "/proc/sys/kernel/random/boot_id")


class Container:
    """Runs systemd, or another program, as the first process of a container. OPTIONS are passed to systemd-nspawn and
    select the files and the program. CONSOLE gets the output of the program."""

    def __init__(self, console: Path, *options: str):
        self.main = Process(["systemd-nspawn", "--quiet", "--keep-unit", "--register=no", f"--machine=quarry-{os.getpid()}",
                             "--private-network", "--console=pipe", "--link-journal=no", *options], console,
                            env={**os.environ, "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes"})

    def has_started(self) -> bool:
        """Waits until systemd has started all units. If the first process is another program, waits until it runs.
        Returns false if the container exits before that."""
        end = time.monotonic() + PATIENCE
        while self.main.is_running() and time.monotonic() < end:
            if "--boot" not in self.main.arguments:
                if self.run("true", check=False).returncode == 0:
                    return True
            elif self.run("systemctl", "is-system-running", check=False).stdout.strip() in ("running", "degraded"):
                self.run("umount", *HIDDEN)
                return True
            time.sleep(0.1)
        return False

    def inside(self, *command: object, namespace: str = "--all") -> list[str]:
        """Returns the command line that runs COMMAND in the container. With --net, COMMAND uses the files of this
        machine and only the network of the container."""
        leader = next(iter(children(self.main.pid)), 0)
        return ["nsenter", f"--target={leader}", namespace, *map(str, command)]

    def run(self, *command: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a program in the container, as root."""
        done = subprocess.run(self.inside(*command), env=ENVIRONMENT, capture_output=True, text=True, timeout=4 * PATIENCE,
                              check=False, stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
        return done

    def shell(self, script: str) -> str:
        """Runs a shell script as root in root's home. Returns its standard output."""
        return self.run("/bin/sh", "-ec", f"cd\n{script}").stdout

    def succeeds(self, script: str) -> bool:
        return self.run("/bin/sh", "-ec", f"cd\n{script}", check=False).returncode == 0

    def wait_for(self, script: str) -> None:
        """Repeats SCRIPT until it succeeds."""
        wait_until(lambda: self.succeeds(script) or not self.main.is_running(), script, pause=0.1)
        assert self.main.is_running(), self.main.output()

    def end(self) -> None:
        """Kills the first process. The kernel then kills all other processes of the container."""
        for child in children(self.main.pid):
            os.kill(child, signal.SIGKILL)
        self.main.wait()
