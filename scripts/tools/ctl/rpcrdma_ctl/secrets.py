# SPDX-License-Identifier: GPL-2.0
"""Load the secrets of host authentication from files into root's user keyring."""

import os
import re
import stat

FOLDER = "/etc/rpcrdma/secrets"
SHORTEST = 16           # bytes
LONGEST = 32767         # bytes of a key
IDENTITY = re.compile(r"[!-~]{1,128}")


class Unsafe(Exception):
    """Another user than root can read or replace a secret."""


def check(info, forbidden, owner):
    if info.st_uid != owner:
        raise Unsafe("it does not belong to root")
    if info.st_mode & forbidden:
        raise Unsafe(f"others than root have access (mode {stat.S_IMODE(info.st_mode):04o})")


def read(name, folder, owner):
    """Return the content of the file called name if only root can read it. folder is an open
    directory."""
    # Don't follow a symbolic link out of the folder, and don't block on a FIFO.
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with os.fdopen(file, "rb") as opened:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode):
            raise Unsafe("it is not a file")
        check(info, 0o077, owner)
        return opened.read(LONGEST + 1)


def load_one(system, name, folder, owner):
    """Load a secret. Return an error text, or None after success."""
    if not IDENTITY.fullmatch(name):
        return "the name is not a valid identity"
    try:
        secret = read(name, folder, owner)
    except Unsafe as error:
        return str(error)
    except OSError as error:
        return error.strerror
    if not SHORTEST <= len(secret) <= LONGEST:
        return f"it has {len(secret)} bytes, not {SHORTEST} to {LONGEST}"
    return system.add_secret(name, secret)


def load(system, out, path=FOLDER, owner=0):
    """Load all secrets of a folder and return the exit status."""
    folder = os.open(system.path(path), os.O_RDONLY | os.O_DIRECTORY)
    status = loaded = 0
    try:
        check(os.fstat(folder), 0o022, owner)
        for name in sorted(os.listdir(folder)):
            # Skip temporary and backup files of editors and package managers.
            if name.startswith("."):
                continue
            wrong = load_one(system, name, folder, owner)
            if wrong:
                out.write(f"{path}/{name}: not loaded: {wrong}\n")
                status = 1
            else:
                loaded += 1
    except Unsafe as error:
        out.write(f"{path}: nothing is loaded: {error}\n")
        return 1
    finally:
        os.close(folder)
    out.write(f"{loaded} secret{'' if loaded == 1 else 's'} loaded\n")
    return status
