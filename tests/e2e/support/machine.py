"""A small machine with its own systemd, in a container (systemd-nspawn).

The machine has the programs of the host (/usr). Its /etc, /var, /run, /srv and /tmp are empty and in memory, and it has
its own network. The machine exists as long as the Machine object."""

import os
import re
import shutil
from pathlib import Path

from . import places
from .container import Container

#: Paths in the machine. They are outside of /tmp, because units with PrivateTmp have another /tmp.
PROGRAMS, SOURCE, SHARED = Path("/opt/programs"), Path("/opt/source"), Path("/opt/shared")

#: The users of the sample configuration.
USERS = 'u quarry - "Quarry" /srv/fossil\nu www-data 33 "Web server" /var/www\n'


def is_possible() -> bool:
    """Returns whether a machine can probably be started here."""
    return (os.geteuid() == 0 and shutil.which("systemd-nspawn") is not None and shutil.which("nsenter") is not None
            and Path("/usr/lib/systemd/systemd").exists() and Path("/bin").is_symlink())


class Machine(Container):
    """A machine with the sample configuration and the sample units. In the machine, FOLDER has the path SHARED."""

    def __init__(self, folder: Path):
        self.folder = folder
        units, users = folder / "units", folder / "users.conf"
        units.mkdir()
        for sample in (places.TOP / "conf" / "systemd").iterdir():
            text = re.sub(r"/usr(/local)?/sbin/quarryd\b", f"{PROGRAMS}/src/app/quarryd", sample.read_text())
            (units / sample.name).write_text(text)
        users.write_text(USERS)
        super().__init__(
            folder / "console", "--directory=/", "--volatile=yes", f"--bind={folder}:{SHARED}",
            f"--bind-ro={places.build_directory()}:{PROGRAMS}", f"--bind-ro={places.TOP}:{SOURCE}",
            f"--bind-ro={users}:/etc/sysusers.d/quarry.conf", "--boot", "systemd.unit=basic.target",
            "systemd.mask=systemd-firstboot.service")
