"""Substitutes for `fossil` that do not make pages."""

from pathlib import Path


def write(path: Path, of_requests: str, of_help: str = 'exec fossil "$@"') -> Path:
    """Writes a shell script that runs OF_REQUESTS for each page, and OF_HELP for the list of pages."""
    path.write_text("#!/bin/sh\ncase $1 in version) echo 'This is fossil version 2.21 [x]' ;; "
                    f"help) {of_help} ;; *) {of_requests} ;; esac\n")
    path.chmod(0o755)
    return path


def failing(folder: Path) -> Path:
    return write(folder / "failing", "exit 3")


def hanging(folder: Path) -> Path:
    """Writes a program that hangs. The program creates FOLDER/begun when it gets the first request."""
    return write(folder / "hanging", f"head -c 1 | grep -q . && : > '{folder}/begun'; exec sleep 600")
