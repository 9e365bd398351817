# SPDX-License-Identifier: GPL-2.0
"""Tests of rpcrdma-ctl secrets."""

import io
import os
import pathlib
import shutil
import subprocess
import unittest

from test_host import HERE, Test
from rpcrdma_ctl import main, secrets


class Secrets(unittest.TestCase):
    """The files of secrets and their access permissions"""

    def setUp(self):
        Test.setUp(self)
        self.folder = pathlib.Path(self.host.path(secrets.FOLDER))
        self.folder.mkdir(mode=0o700, parents=True)
        self.secret("a.test", b"0123456789abcdef")

    def secret(self, name, content, mode=0o600):
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(mode)

    def load(self, owner=None):
        out = io.StringIO()
        owner = os.getuid() if owner is None else owner
        return secrets.load(self.host, out, secrets.FOLDER, owner), out.getvalue()

    def refused(self, reason, name="b.test"):
        code, text = self.load()
        self.assertEqual(code, 1)
        self.assertIn(f"{secrets.FOLDER}/{name}: not loaded: {reason}", text)
        self.assertIn("1 secret loaded", text)
        self.assertEqual(list(self.host.added), [("logon", "rpcrdma:a.test")])

    def test_load(self):
        # All bytes of a file are the secret, including a newline.
        self.secret("b.test", b"\0 16 bytes and \xff\n")
        self.secret(".b.test.swp", b"not a secret, but a file of an editor", 0o644)
        self.assertEqual(self.load(), (0, "2 secrets loaded\n"))
        self.assertEqual(self.host.added,
                         {("logon", "rpcrdma:a.test"): b"0123456789abcdef",
                          ("logon", "rpcrdma:b.test"): b"\0 16 bytes and \xff\n"})
        # No argument of a program contains a secret.
        self.assertNotIn("0123456789abcdef", str(self.host.ran))

    def test_namespace(self):
        self.host.network("net:[2]")
        self.assertEqual(self.load()[0], 0)
        self.assertEqual(list(self.host.added), [("rpcrdma", "rpcrdma:a.test")])

    def test_command(self):
        self.folder.rename(self.folder.parent / "other")
        code, text = self.run_command("/etc/rpcrdma/other")
        self.assertEqual((code, text), (0, "1 secret loaded\n") if not os.getuid() else
                         (1, "/etc/rpcrdma/other: nothing is loaded: it does not belong to root\n"))
        self.assertEqual(self.run_command()[0], 3)

    def run_command(self, *folder):
        out = io.StringIO()
        return main.main(["secrets", *folder], self.host, out), out.getvalue()

    def test_modes(self):
        for mode in (0o640, 0o604, 0o620, 0o602, 0o644, 0o660):
            self.secret("b.test", b"0123456789abcdef", mode)
            self.refused("others than root have access")

    def test_owner(self):
        code, text = self.load(os.getuid() + 1)
        self.assertEqual((code, self.host.added), (1, {}))
        self.assertIn("nothing is loaded: it does not belong to root", text)

    def test_folder(self):
        """A user who can write to the folder can replace secrets without access to the files."""
        for mode in (0o720, 0o702, 0o777):
            self.folder.chmod(mode)
            code, text = self.load()
            self.assertEqual((code, self.host.added), (1, {}))
            self.assertIn("nothing is loaded: others than root have access", text)
        self.folder.chmod(0o755)
        self.assertEqual(self.load()[0], 0)

    def test_link(self):
        (self.folder / "b.test").symlink_to("a.test")
        self.refused("")

    def test_no_file(self):
        os.mkfifo(self.folder / "b.test", 0o600)
        self.refused("it is not a file")

    def test_lengths(self):
        for length in (0, 15, 32768):
            self.secret("b.test", b"x" * length)
            self.refused(f"it has {min(length, 32768)} bytes")
        self.secret("b.test", b"x" * 32767)
        self.assertEqual(self.load()[0], 0)

    def test_names(self):
        for name in ("a b", "x" * 129, "\u00e4.test"):
            self.secret(name, b"0123456789abcdef")
            self.refused("the name is not a valid identity", name)
            (self.folder / name).unlink()

    def test_no_keyctl(self):
        self.host.missing = ("keyctl",)
        code, text = self.load()
        self.assertEqual(code, 1)
        self.assertIn("install keyutils", text)

    def test_unit(self):
        """systemd accepts the unit, which calls the installed program."""
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        folder = pathlib.Path(self.host.path("/unit"))
        subprocess.run(["make", "-s", "-C", str(HERE), "install", f"DESTDIR={folder}",
                        "PREFIX=/usr"], check=True)
        unit = folder / "usr/lib/systemd/system/rpcrdma-secrets.service"
        text = unit.read_text("utf-8")
        self.assertIn("ExecStart=/usr/bin/rpcrdma-ctl secrets\n", text)
        self.assertTrue(os.access(folder / "usr/bin/rpcrdma-ctl", os.X_OK))
        unit.write_text(text.replace("/usr/bin/", f"{folder}/usr/bin/"), encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                               str(unit)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
