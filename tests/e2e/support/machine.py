"""A small machine with its own systemd, in a container (systemd-nspawn).

The machine has the programs of the host (/usr). Its /etc, /var, /run, /srv and /tmp are empty and in memory, and it has
its own network. It lasts as long as the Machine object.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from . import places, process

#: Paths in the machine. They are outside of /tmp, which units with PrivateTmp cannot see.
PROGRAMS, SOURCE, SHARED = Path("/opt/programs"), Path("/opt/source"), Path("/opt/shared")

#: The users of the sample configuration.
USERS = 'u quarry - "Quarry" /srv/fossil\nu www-data 33 "Web server" /var/www\n'

#: Files that systemd-nspawn hides in /proc. Only a process that sees the whole of /proc can mount a new /proc.
HIDDEN = "/proc/kmsg /proc/sys/kernel/random/boot_id"


def is_possible() -> bool:
    """Returns whether a machine can probably be started here."""
    return (os.geteuid() == 0 and shutil.which("systemd-nspawn") is not None and shutil.which("nsenter") is not None
            and Path("/usr/lib/systemd/systemd").exists() and Path("/bin").is_symlink())


class Machine:
    """A machine with the sample configuration and the sample units. FOLDER is SHARED in the machine."""

    def __init__(self, folder: Path):
        self.folder = folder
        units, users = folder / "units", folder / "users.conf"
        units.mkdir()
        for sample in (places.TOP / "conf" / "systemd").iterdir():
            text = re.sub(r"/usr(/local)?/sbin/quarryd\b", f"{PROGRAMS}/src/app/quarryd", sample.read_text())
            (units / sample.name).write_text(text)
        users.write_text(USERS)
        self.main = process.Process(
            ["systemd-nspawn", "--quiet", "--keep-unit", "--register=no", f"--machine=quarry-{os.getpid()}",
             "--directory=/", "--volatile=yes", "--private-network", "--console=pipe", "--link-journal=no",
             f"--bind={folder}:{SHARED}", f"--bind-ro={places.build_directory()}:{PROGRAMS}",
             f"--bind-ro={places.TOP}:{SOURCE}", f"--bind-ro={users}:/etc/sysusers.d/quarry.conf",
             "--boot", "systemd.unit=basic.target", "systemd.mask=systemd-firstboot.service"],
            folder / "console", env={**os.environ, "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes"})

    def has_started(self) -> bool:
        """Waits until systemd has started all units. Returns false if systemd cannot start here."""
        end = time.monotonic() + process.PATIENCE
        while self.main.is_running() and time.monotonic() < end:
            if process.children(self.main.pid):
                state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
                if state in ("running", "degraded"):
                    self.run("umount", *HIDDEN.split())
                    return True
            time.sleep(0.1)
        return False

    def run(self, *arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a program in the machine, as root."""
        leader = process.children(self.main.pid)[0]
        done = subprocess.run(["nsenter", f"--target={leader}", "--all", *map(str, arguments)], capture_output=True,
                              text=True, timeout=process.PATIENCE, check=False, stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done

    def shell(self, command: str) -> str:
        return self.run("/bin/sh", "-ec", command).stdout

    def end(self) -> None:
        for child in process.children(self.main.pid):
            os.kill(child, signal.SIGKILL)
        self.main.wait()
