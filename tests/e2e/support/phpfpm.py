"""A PHP-FPM for comparisons, if it is installed."""

import os
import shutil
from pathlib import Path

from . import fastcgi
from .daemon import section
from .process import Process, socket_answers, wait_until

PROGRAM = shutil.which("php-fpm8.2") or "/usr/sbin/php-fpm8.2"


def is_installed() -> bool:
    return Path(PROGRAM).exists()


class PhpFpm:
    """A PHP-FPM with one pool `www`. SETTINGS are the same as those of the compared Quarry pool."""

    def __init__(self, folder: Path, settings: dict[str, object]):
        self.socket = folder / "php.sock"
        words = {"listen": self.socket, **({"user": "root", "group": "root"} if os.geteuid() == 0 else {}), **settings}
        config = folder / "php-fpm.conf"
        config.write_text(f"""[global]
error_log = {folder}/php-error.log
daemonize = no
{section("www", words)}""")
        self.process = Process([PROGRAM, "--allow-to-run-as-root", "--fpm-config", config], folder / "php-fpm.log")
        wait_until(lambda: socket_answers(self.socket) or not self.process.is_running(), "PHP-FPM")
        assert self.process.is_running(), self.process.output()

    def ask(self, path: str, query: str = "") -> fastcgi.Reply:
        return fastcgi.ask(self.socket, path, query)

    def stop(self) -> None:
        self.process.stop()
