"""Hooks that `fossil hook add` stored: what is handed to the courier for them is what they read under
`fossil backoffice`."""

import json
import shutil
import socket
import sqlite3
import struct
import threading

import pytest

from support import repofile
from support.program import quarry


class Courier:
    """As much of the courier as takes messages: what came, acknowledged or refused."""

    def __init__(self, path):
        self.path = path
        self.messages = []
        self.refuses = False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()
