"""Our command line program, run to its end."""

import subprocess

from support import places


def quarry(*arguments, env=None):
    return subprocess.run([places.program("quarry"), *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          check=False, env=env)
