#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of rpcrdma-ctl on a simulated host: files below a folder, programs and netlink.

Prints "ok NAME" or "not ok NAME" for each test, as "make check" reads it.
"""

import errno
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path.insert(0, str(HERE))

from rpcrdma_ctl import doctor, main, metrics, netlink, secrets, status, top, trace  # noqa: E402
from rpcrdma_ctl import reload as reloading  # noqa: E402
from rpcrdma_ctl.system import NO_PROGRAM, System  # noqa: E402

KERNEL = "6.1.0-50-amd64"
UPDATES = f"/lib/modules/{KERNEL}/updates"
INFO = {"filename": f"{UPDATES}/dkms/rpcrdma.ko", "version": "0.2", "srcversion": "A1"}
IN_TREE = {"filename": f"/lib/modules/{KERNEL}/kernel/net/sunrpc/xprtrdma/rpcrdma.ko",
           "srcversion": "B2"}
NAMES = ["send_inline", "recv_inline", "sent", "limit", "received", "advertised",
         "calls_inline", "calls_continued", "calls_special", "read_chunks", "write_chunks",
         "reply_chunks", "remote_inv", "local_inv", "errors_sent", "errors_received",
         "dones_overdue", "memory_fixed", "memory_calls", "outstanding"]
MOUNTSTATS = """device rootfs mounted on / with fstype rootfs
device 192.0.2.1:/export mounted on /mnt with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,proto=rdma,port=20049,clientaddr=192.0.2.2
\tbytes:\t0 0 0 0 4096 8192 1 2
\txprt:\trdma 0 0 1 0 11 100 100 0 0 0
\tper-op statistics
\t        READ: 10 10 0 1000 5000 20 40 60 0
"""


def connection(**changes):
    """Return a client's connection without a fault, changed as given."""
    numbers = dict.fromkeys(NAMES, 0)
    numbers.update(send_inline=16384, recv_inline=16384, sent=500, limit=564,
                   received=500, advertised=564, calls_inline=490)
    numbers.update(changes.pop("numbers", {}))
    result = {"role": "client", "version": 2, "why": "both", "state": "open",
              "fallback": False, "local": {"address": "192.0.2.2", "port": 4000},
              "remote": {"address": "192.0.2.1", "port": 20049}, "numbers": numbers}
    result.update(changes)
    return result


class Family:
    """A netlink family with given answers."""

    def __init__(self):
        self.answers = {"connections": [connection()], "listeners": [], "counters": [
            {"name": name, "unit": "attempts", "kind": "counter", "value": 0}
            for name in doctor.COUNTED]}

    def connections(self):
        return self.answers["connections"]

    def listeners(self):
        return self.answers["listeners"]

    def counters(self):
        return self.answers["counters"]

    def count(self, name, value):
        for counter in self.answers["counters"]:
            if counter["name"] == name:
                counter["value"] = value

    @staticmethod
    def numbers():
        return [{"name": name, "unit": "bytes" if "inline" in name[:11] else "calls",
                 "kind": "gauge" if name in ("outstanding", "send_inline") else "counter"}
                for name in NAMES]


class Host(System):
    """A host without a fault."""

    def __init__(self, folder):
        super().__init__(folder)
        self.info = {"rpcrdma": dict(INFO),
                     "ib_core": {"filename": f"/lib/modules/{KERNEL}/kernel/ib_core.ko"}}
        self.family = Family()
        self.route = "192.0.2.1 dev eth0 src 192.0.2.2"
        self.lost = None        # packets with at least this many bytes of data are lost
        self.ran = []
        self.failing = ()       # programs that fail
        self.missing = ()
        self.starts = lambda: None
        self.keys = {}          # serial numbers of a namespace's keys, by name
        self.added = {}
        self.is_root = lambda: True
        self.file("/proc/sys/kernel/osrelease", KERNEL)
        self.file("/proc/sys/kernel/hostname", "host.test")
        self.network("net:[1]")
        self.file("/sys/module/rpcrdma/version", "0.2")
        self.file("/sys/module/rpcrdma/srcversion", "A1")
        self.file("/sys/module/rpcrdma/refcnt", "0")
        self.file(INFO["filename"], "")
        self.file(IN_TREE["filename"], "")
        self.file(f"/lib/modules/{KERNEL}/build/Makefile", "")
        device = "/sys/class/infiniband/rxe0"
        self.file(f"{device}/node_type", "1: CA")
        self.file(f"{device}/ports/1/state", "4: ACTIVE")
        self.file(f"{device}/ports/1/link_layer", "Ethernet")
        self.file(f"{device}/ports/1/rate", "25 Gb/sec (1X EDR)")
        self.gid(0, "fe80:0000:0000:0000:0011:22ff:fe33:4455")
        self.gid(1, "0000:0000:0000:0000:0000:ffff:c000:0202")
        self.file("/sys/class/net/eth0/mtu", "9000")
        self.file("/sys/class/net/eth0/operstate", "up")
        self.file("/proc/self/mountstats", MOUNTSTATS)
        self.file("/proc/self/mounts", "192.0.2.1:/export /mnt nfs4 "
                  "rw,vers=4.2,proto=rdma,port=20049,clientaddr=192.0.2.2,addr=192.0.2.1 0 0")

    def file(self, name, text):
        path = pathlib.Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")

    def network(self, namespace):
        """Set the network namespace of this process. The host's is net:[1]."""
        for process, name in (("1", "net:[1]"), ("self", namespace)):
            link = pathlib.Path(self.path(f"/proc/{process}/ns/net"))
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(name)

    def gid(self, index, gid, kind="RoCE v2", netdev="eth0"):
        port = "/sys/class/infiniband/rxe0/ports/1"
        self.file(f"{port}/gids/{index}", gid)
        self.file(f"{port}/gid_attrs/types/{index}", kind)
        self.file(f"{port}/gid_attrs/ndevs/{index}", netdev)

    def remove(self, name):
        path = self.path(name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)

    def modinfo(self, name):
        return self.info.get(name, {})

    def netlink(self):
        if self.family is None:
            raise netlink.Unavailable
        return self.family

    def keyctl(self, command, given):
        if command[1] == "search":
            serial = self.keys.get(command[4])
            return (0, f"{serial}\n") if serial else (1, "no such key")
        self.added[command[2], command[3]] = given
        return 0, "12345\n"

    def run(self, *command, given=b""):
        self.ran.append(command)
        if command[0] in self.missing:
            return NO_PROGRAM, "no such file"
        if command[0] in self.failing:
            return 1, "it fails"
        if command[:2] == ("systemctl", "start"):
            self.starts()
        if command[0] == "ip":
            return 0, self.route
        if command[0] == "keyctl":
            return self.keyctl(command, given)
        if command[0] == "ping":
            size = int(command[command.index("-s") + 1])
            return int(self.lost is not None and size >= self.lost), ""
        return 0, ""


class Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.host = Host(folder.name)

    def names(self):
        return [finding["name"] for finding in doctor.findings(self.host)]

    def run_tool(self, *argv):
        out = io.StringIO()
        code = main.main(list(argv), self.host, out)
        return code, out.getvalue()


class Doctor(Test):
    """Each cause leads to its finding, and to no other one."""

    def only(self, *names):
        self.assertEqual(self.names(), list(names))

    def with_numbers(self, **numbers):
        self.host.family.answers["connections"] = [connection(numbers=numbers)]

    def serve(self, portlist="rdma 20049\nrdma 20049\ntcp 2049", conf="[nfsd]\nrdma=y"):
        self.host.file("/proc/fs/nfsd/threads", "8")
        self.host.file("/proc/fs/nfsd/portlist", portlist)
        self.host.file("/etc/nfs.conf", conf)

    def test_good(self):
        self.only()
        self.assertEqual(self.run_tool("doctor"), (0, "nothing found\n"))

    def test_good_server(self):
        self.serve()
        self.host.family.answers["listeners"] = [{"local": None, "listening": True}]
        self.only()

    def test_missing_headers(self):
        self.host.info["rpcrdma"] = IN_TREE
        self.host.file("/usr/src/rpcrdma-v2-0.2/Kbuild", "")
        self.host.remove(f"/lib/modules/{KERNEL}/build")
        self.only("missing-headers")

    def test_not_installed(self):
        self.host.info["rpcrdma"] = {}
        self.only("not-installed")

    def test_in_tree_installed(self):
        self.host.info["rpcrdma"] = IN_TREE
        self.host.remove("/sys/module/rpcrdma/version")
        self.host.family = None
        self.only("in-tree-installed")

    def test_shadowed(self):
        self.host.file(f"{UPDATES}/rpcrdma.ko", "")
        self.only("shadowed")

    def test_not_loaded(self):
        self.host.remove("/sys/module/rpcrdma")
        self.host.family = None
        self.only("not-loaded")

    def test_in_tree_loaded(self):
        self.host.remove("/sys/module/rpcrdma/version")
        self.host.family = None
        self.only("in-tree-loaded")

    def test_stale(self):
        self.host.file("/sys/module/rpcrdma/srcversion", "A0")
        self.only("stale")

    def test_no_interface(self):
        self.host.family = None
        self.only("no-interface")

    def test_foreign_stack(self):
        self.host.info["ib_core"] = {"filename": f"{UPDATES}/mlnx-ofed/ib_core.ko"}
        self.only("foreign-stack")

    def test_foreign_stack_by_module(self):
        self.host.file("/sys/module/mlx_compat/version", "5.8")
        self.only("foreign-stack")

    def test_no_device(self):
        self.host.remove("/sys/class/infiniband")
        self.only("no-device")

    def test_port_down(self):
        self.host.file("/sys/class/infiniband/rxe0/ports/1/state", "1: DOWN")
        self.host.file("/sys/class/net/eth0/operstate", "down")
        self.only("port-down")
        self.assertIn("ip link set eth0 up", self.run_tool("doctor")[1])

    def test_no_rocev2_gid(self):
        for index in (0, 1):
            self.host.gid(index, "fe80:0000:0000:0000:0011:22ff:fe33:4455", "IB/RoCE v1")
        self.only("no-rocev2-gid")

    def test_device_of_another_namespace(self):
        for index in (0, 1):
            self.host.gid(index, "fe80:0000:0000:0000:0011:22ff:fe33:4455", netdev="eth1")
        self.assertEqual(self.host.devices(), [])
        self.host.file("/sys/class/net/eth1/mtu", "9000")
        self.assertEqual([device["name"] for device in self.host.devices()], ["rxe0"])

    def test_iwarp_needs_no_gid(self):
        self.host.file("/sys/class/infiniband/rxe0/node_type", "4: RNIC")
        self.host.remove("/sys/class/infiniband/rxe0/ports/1/gid_attrs")
        self.only()

    def test_mtu_interfaces(self):
        self.host.file("/sys/class/net/eth0.5/mtu", "1500")
        self.host.gid(2, "0000:0000:0000:0000:0000:ffff:c000:0302", netdev="eth0.5")
        self.only("mtu-interfaces")

    def test_mtu_mismatch(self):
        self.host.lost = 1500
        self.only("mtu-mismatch")
        self.assertIn("9000 bytes", doctor.findings(self.host)[0]["what"])
        # A server on this host: no packet can have the MTU of the loopback interface.
        self.host.file("/sys/class/net/lo/mtu", "65536")
        self.host.route = "local 192.0.2.1 dev lo src 192.0.2.1"
        self.only()

    def test_host_that_does_not_answer(self):
        self.host.lost = 0
        self.only()

    def test_mtu_unchecked(self):
        for program in ("ping", "ip"):
            self.host.missing = (program,)
            self.only("mtu-unchecked")
            self.assertIn(f"{program} cannot be run [", self.run_tool("doctor")[1])

    def test_listener_missing(self):
        self.serve("tcp 2049")
        self.only("listener-missing")

    def test_listener_not_persistent(self):
        for conf in ("", "[nfsd]\nrdma=n", "[mountd]\nrdma=y", "[nfsd]\n# rdma=y"):
            self.serve(conf=conf)
            self.only("listener-not-persistent")

    def test_listener_in_a_fragment(self):
        self.serve(conf="")
        self.host.file("/etc/nfs.conf.d/local.conf", "[nfsd]\nrdma = y  # port 20049")
        self.only()

    def test_listener_lost(self):
        self.serve()
        self.host.family.answers["listeners"] = [
            {"local": {"address": "192.0.2.2", "port": 20049}, "listening": False}]
        self.only("listener-lost")

    def test_not_rdma(self):
        self.host.file("/etc/fstab", "192.0.2.1:/export /mnt nfs4 proto=rdma,hard 0 0")
        self.only()
        self.host.file("/proc/self/mountstats", MOUNTSTATS.replace("xprt:\trdma", "xprt:\ttcp"))
        self.only("not-rdma")

    def test_fallback(self):
        self.host.family.answers["connections"] = [
            connection(version=1, why="silence", fallback=True)]
        self.only("fallback")
        self.assertIn("does not answer version 2", self.run_tool("doctor")[1])

    def test_never_pulled(self):
        self.with_numbers(dones_overdue=3)
        self.only("never-pulled")

    def test_connections_come_first(self):
        order = []
        modinfo = self.host.modinfo
        self.host.modinfo = lambda name: order.append("modinfo") or modinfo(name)
        self.host.family.connections = lambda: order.append("connections") or []
        self.names()
        self.assertEqual(order[0], "connections")

    def test_errors(self):
        self.with_numbers(errors_received=1)
        self.only("errors")

    def test_small_window(self):
        self.with_numbers(limit=502)
        self.only("small-window")
        # The counts wrap at 2^32. Outstanding Calls are part of the window.
        self.with_numbers(limit=10, sent=(1 << 32) - 10)
        self.only()
        self.with_numbers(limit=502, outstanding=60)
        self.only()

    def test_small_threshold(self):
        self.with_numbers(recv_inline=4096)
        self.only("small-threshold")

    def test_many(self):
        """The same fault on many connections is one finding."""
        small = connection(numbers={"recv_inline": 4096})
        other = connection(numbers={"recv_inline": 1024})
        self.host.family.answers["connections"] = [small, other, small]
        self.only("small-threshold", "small-threshold")
        printed = self.run_tool("doctor")[1]
        self.assertIn(" and 1 other: messages of at most 4096 bytes", printed)
        self.assertIn(":20049: messages of at most 1024 bytes", printed)
        self.host.family.answers["connections"] = [small] * 1025
        self.only("small-threshold")
        self.assertIn(" and 1024 others: messages", self.run_tool("doctor")[1])

    def test_each_counter(self):
        for name in doctor.COUNTED:
            self.host.family = Family()
            self.host.family.count(name, 2)
            self.only(name.replace("_", "-"))

    def test_one_of_them(self):
        """A count of one is printed in the singular."""
        for name, what in (("refused_no_memory", "1 client was rejected"),
                           ("connects_failed", "1 attempt to connect has failed"),
                           ("accepts_failed", "1 connect request failed"),
                           ("unreachable", "1 time a server did not answer"),
                           ("pulls_overdue", "1 Reply was not pulled")):
            self.host.family = Family()
            self.host.family.count(name, 1)
            self.assertIn(what, self.run_tool("doctor")[1])

    def key(self, flags="I--Q---", expires="perm", name="host.test", length=32, kind="logon"):
        self.host.file("/proc/keys",
                       "0c1995e8 I--Q---     1 perm 1f3f0000     0 65534 keyring   _uid_ses.0: 1\n"
                       f"1d2c3b4a {flags}     1 {expires} 3f010000     0     0 {kind:9} "
                       f"rpcrdma:{name}: {length}")

    def require(self, name):
        self.host.file(f"/sys/module/rpcrdma/parameters/{name}", "2")

    def test_auth_good(self):
        self.require("host_auth")
        self.key()
        self.only()
        # If no key is visible, only root can conclude that a secret is missing.
        self.key(name="other.test")
        self.only("auth-no-secret")
        self.host.remove("/proc/keys")
        self.host.is_root = lambda: False
        self.only()

    def test_auth_no_secret(self):
        self.require("host_auth")
        self.only("auth-no-secret")
        self.assertIn("rpcrdma:host.test", self.run_tool("doctor")[1])
        self.host.file("/sys/module/rpcrdma/parameters/host_identity", "mine.test")
        self.key()
        self.only("auth-no-secret")
        self.key(name="mine.test")
        self.only()

    def test_auth_no_secret_of_clients(self):
        self.require("svc_host_auth")
        self.only()
        self.serve()
        self.only("auth-no-secret")
        self.key(name="a.client")
        self.only()

    def test_auth_short_secret(self):
        self.key(length=15)
        self.only("auth-short-secret")
        self.require("host_auth")
        self.only("auth-short-secret", "auth-no-secret")

    def test_auth_revoked(self):
        self.key(flags="IR-Q---")
        self.only("auth-revoked")
        self.key(expires="expd")
        self.only("auth-revoked")

    def test_auth_of_a_namespace(self):
        """Keys of a network namespace have their own type, and are used in it only."""
        self.require("host_auth")
        self.key(kind="rpcrdma")
        self.only("auth-no-secret")
        self.host.network("net:[2]")
        # The key of another namespace has the same name.
        self.only("auth-no-secret")
        self.assertIn("keyctl padd rpcrdma rpcrdma:host.test", self.run_tool("doctor")[1])
        self.host.keys["rpcrdma:host.test"] = 0x1d2c3b4b
        self.only("auth-no-secret")
        self.host.keys["rpcrdma:host.test"] = 0x1d2c3b4a
        self.only()
        self.key()
        self.only("auth-no-secret")

    def test_auth_identity_of_a_namespace(self):
        """The identity is a key, which cannot be read: any usable secret may be its secret."""
        self.require("host_auth")
        self.host.network("net:[2]")
        self.host.keys["rpcrdma-identity"] = 5
        self.only("auth-no-secret")
        self.key(kind="rpcrdma", name="web.test")
        self.host.keys["rpcrdma:web.test"] = 0x1d2c3b4a
        self.only()

    def test_auth_bad_keys_of_a_namespace(self):
        self.key(kind="rpcrdma", length=15)
        self.only("auth-short-secret")
        self.assertIn("from within that namespace", self.run_tool("doctor")[1])
        self.key(kind="rpcrdma", flags="IR-Q---")
        self.only("auth-revoked")

    def test_exit_status(self):
        self.host.family.count("drains_failed", 1)
        self.assertEqual(self.run_tool("doctor")[0], 2)
        self.host.family = Family()
        self.host.family.count("mr_shortages", 1)
        code, text = self.run_tool("doctor", "--json")
        self.assertEqual(code, 1)
        self.assertEqual(json.loads(text)[0]["name"], "mr-shortages")


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


class Counters(unittest.TestCase):
    """The table of the doctor and the counters of the core"""

    def test_known(self):
        core = (TOP / "net/sunrpc/xprtrdma/core/conn/counters.cc").read_text("utf-8")
        names = set(re.findall(r'\{ "(\w+)", "\w+", RPCRDMA_COUNTER \}', core))
        self.assertLessEqual(set(doctor.COUNTED), names)
        # Counters that do not indicate a fault
        self.assertEqual(names - set(doctor.COUNTED),
                         {"opened", "closed", "fallbacks", "rejects_stale",
                          "auths_started", "auths_done", "auths_dh"})


class Specification(unittest.TestCase):
    """The specification, the header and the program have the same names and numbers."""

    def setUp(self):
        self.text = (TOP / "Documentation/netlink/specs/rpcrdma.yaml").read_text("utf-8")
        self.header = (TOP / "include/uapi/linux/rpcrdma_netlink.h").read_text("utf-8")

    def spec_sets(self):
        part = self.text[self.text.index("attribute-sets:"):self.text.index("operations:")]
        result = {}
        for spaces, name in re.findall(r"^( +)name: (\S+)$", part, re.M):
            if len(spaces) == 4:
                result[name] = members = []
            else:
                members.append(name)
        return result

    def spec_commands(self):
        part = self.text[self.text.index("operations:"):self.text.index("mcast-groups:")]
        return re.findall(r"^      name: (\S+)$", part, re.M)

    def enumeration(self, prefix):
        return [name.lower().replace("_", "-") for name in
                re.findall(rf"^\t{prefix}_([A-Z_]+)(?: = 1)?,$", self.header, re.M)]

    def test_sets(self):
        self.assertEqual(self.spec_sets(), netlink.SETS)
        for name, members in netlink.SETS.items():
            self.assertEqual(self.enumeration(f"RPCRDMA_A_{name.upper()}"), members)

    def test_commands(self):
        self.assertEqual(self.spec_commands(), netlink.COMMANDS)
        self.assertEqual(self.enumeration("RPCRDMA_CMD"), netlink.COMMANDS)


class Decode(unittest.TestCase):
    def test_connection(self):
        attribute = netlink.attribute
        four = struct.pack("=H", 2) + struct.pack("!H", 20049) + bytes((192, 0, 2, 1)) + bytes(8)
        six = struct.pack("=H", 10) + struct.pack("!HI", 20049, 0) + \
            bytes.fromhex("20010db8" + "0" * 23 + "1") + bytes(4)
        data = (attribute(1, b"server\0") + attribute(2, four) + attribute(3, six)
                + attribute(4, struct.pack("=I", 2)) + attribute(7, b"")
                + attribute(9, struct.pack("=3Q", 1, 2, 1 << 40))
                + attribute(10, struct.pack("=Q", 7)) + attribute(12, b"authenticated\0")
                + attribute(14, b"client.test\0") + attribute(99, b"new"))
        result = netlink.decode("connection", data, ["a", "b"])
        self.assertEqual(result["role"], "server")
        self.assertEqual(netlink.text(result["local"]), "192.0.2.1:20049")
        self.assertEqual(netlink.text(result["remote"]), "[2001:db8::1]:20049")
        self.assertEqual(result["version"], 2)
        self.assertTrue(result["fallback"])
        self.assertEqual(result["id"], 7)
        self.assertEqual((result["auth"], result["identity"]), ("authenticated", "client.test"))
        # A newer module sends more numbers than this program has names.
        self.assertEqual(result["numbers"], {"a": 1, "b": 2})

    def test_malformed(self):
        self.assertEqual(list(netlink.attributes(b"\1\0\1\0\0\0")), [])
        self.assertIsNone(netlink.address(bytes(16)))


class Events(Test):
    class Socket:
        """A socket that has lost messages between two of them."""

        def __init__(self, *data):
            self.data = list(data)

        def setsockopt(self, *_):
            pass

        def recv(self, _):
            if not self.data:
                raise KeyboardInterrupt
            data = self.data.pop(0)
            if isinstance(data, OSError):
                raise data
            return data

    @staticmethod
    def message(state):
        body = struct.pack("=BBH", netlink.COMMANDS.index("connection-ntf") + 1, 1, 0)
        for number, value in ((1, "client"), (5, "both"), (6, state)):
            body += netlink.attribute(number, value.encode() + b"\0")
        for number in 2, 3:
            body += netlink.attribute(number, struct.pack("=H", 10) + bytes(26))
        body += netlink.attribute(4, struct.pack("=I", 2))
        return struct.pack("=IHHII", 16 + len(body), 30, 0, 0, 0) + body

    def events(self, *options, error=errno.ENOBUFS):
        family = netlink.Netlink.__new__(netlink.Netlink)
        family.family, family.groups, family.names = 30, {netlink.GROUP: 1}, []
        family.connections = lambda: []
        family.socket = self.Socket(self.message("open"), OSError(error, ""),
                                    self.message("closing"))
        self.host.family = family
        return self.run_tool("events", *options)

    def test_lost(self):
        code, text = self.events()
        self.assertEqual(code, 130)
        self.assertRegex(text, r"open\n\S+ events were lost\n.* closing\n$")

    def test_lost_json(self):
        lines = [json.loads(line) for line in self.events("--json")[1].splitlines()]
        self.assertEqual([line.get("state") for line in lines], ["open", None, "closing"])
        self.assertEqual(lines[1], {"lost": True})

    def test_other_errors(self):
        self.assertEqual(self.events(error=errno.EBADF)[0], 3)


class Status(Test):
    def test_text(self):
        self.host.family.answers["listeners"] = [
            {"local": {"address": "0.0.0.0", "port": 20049}, "listening": False}]
        code, text = self.run_tool("status")
        self.assertEqual(code, 0)
        for line in (r"Module +loaded: 0.2 \(A1\), 0 users",
                     r"installed: 0.2 \(A1\), .*/updates/dkms/rpcrdma.ko, not signed",
                     r"Device +rxe0/1 CA, Ethernet, ACTIVE, 25 Gb/sec .*eth0 \(MTU 9000\), "
                     r"RoCE v2",
                     r"Listener +0.0.0.0:20049, waiting for",
                     r"Mount +/mnt of 192.0.2.1:/export, NFS 4.2, rdma, connection 0",
                     r"Connection +0: client 192.0.2.2:4000 - 192.0.2.1:20049, "
                     r"version 2 \(both\)"):
            self.assertRegex(text, line)

    def test_json(self):
        result = json.loads(self.run_tool("status", "--json")[1])
        self.assertEqual(result["mounts"][0]["connections"], [0])
        self.assertEqual(result["connections"][0]["numbers"]["sent"], 500)

    def test_authentication(self):
        for connected, wanted in (
                (dict(auth="authenticated", identity="nfs.test"), "authenticated as nfs.test "
                 r"\(sha512\)"),
                ({"auth": "authenticated", "identity": "nfs.test", "auth-dh": "ffdhe3072"},
                 r"authenticated as nfs.test \(sha512, ffdhe3072\)"),
                (dict(auth="unused", identity="none"), "not authenticated: the peer takes"),
                (dict(auth="failed", identity="x", state="closing"), "authentication failed")):
            self.host.family.answers["connections"] = [
                connection(**{"auth-hash": "sha512"}, **connected)]
            self.assertRegex(self.run_tool("status")[1], wanted)

    def test_other_servers(self):
        self.host.family.answers["connections"] = [
            connection(remote={"address": "192.0.2.9", "port": 20049}),
            connection(role="server")]
        self.assertEqual(status.status(self.host)["mounts"][0]["connections"], [])

    def test_without_module(self):
        self.host.remove("/sys/module/rpcrdma")
        self.host.family = None
        self.host.info["rpcrdma"] = {}
        self.assertRegex(self.run_tool("status")[1], "not loaded\n.*none is installed")


class Top(Test):
    def test_rates(self):
        later = connection(numbers={"calls_inline": 690, "calls_special": 100, "sent": 800,
                                    "limit": 10, "remote_inv": 20, "memory_calls": 4096,
                                    "outstanding": 3, "bytes_sent": 3000,
                                    "bytes_received": 7000})
        row = top.rates([connection()], [later], 2.0)[0]
        self.assertEqual((row["sent"], row["received"]), (1500, 3500))
        self.assertEqual((row["calls"], row["remote_inv"], row["held"], row["outstanding"]),
                         (150, 10, 4096, 3))
        self.assertEqual(row["credits"], (1 << 32) - 790)
        self.assertEqual(top.rates([later], [connection()], 2.0)[0]["calls"], 0)
        # A new connection between the same ports starts at 0.
        row = top.rates([connection(id=1)], [dict(later, id=2)], 2.0)[0]
        self.assertEqual(row["calls"], 395)

    def test_mounts(self):
        before = self.host.mounts()
        self.host.file("/proc/self/mountstats",
                       MOUNTSTATS.replace("4096 8192", "8192 8192")
                       .replace("READ: 10 10 0 1000 5000 20 40", "READ: 20 20 0 2000 9000 20 65"))
        row = top.mount_rates(before, self.host.mounts(), 2.0)[0]
        self.assertEqual((row["read"], row["written"], row["operations"], row["rtt_ms"]),
                         (2048, 0, 5, 2.5))

    def test_round_trips(self):
        """The round-trip time of a mount is shown with the connection to its server."""
        mounts = self.host.mounts()
        connections = [connection(), connection(role="server")]
        self.host.file("/proc/self/mountstats",
                       MOUNTSTATS.replace("READ: 10 10 0 1000 5000 20 40",
                                          "READ: 20 20 0 2000 9000 20 65"))
        result = top.compare((1.0, connections, mounts),
                             (3.0, connections, self.host.mounts()))
        self.assertEqual([row["rtt_ms"] for row in result["connections"]], [2.5, None])

    def test_screen(self):
        code, text = self.run_tool("top", "-d", "0", "-n", "1")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"c 192.0.2.2:4000 192.0.2.1:20049 +2 +0 +64 +0")


class Metrics(Test):
    def test_lines(self):
        lines = list(metrics.lines(self.host.family))
        label = '{role="client",local="192.0.2.2:4000",remote="192.0.2.1:20049"}'
        for line in ("# TYPE rpcrdma_mr_shortages_total counter",
                     "rpcrdma_mr_shortages_total 0",
                     "# TYPE rpcrdma_connection_sent_total counter",
                     f"rpcrdma_connection_sent_total{label} 500",
                     f"rpcrdma_connection_send_inline_bytes{label} 16384",
                     f"rpcrdma_connection_outstanding{label} 0",
                     f"rpcrdma_connection_version{label} 2"):
            self.assertIn(line, lines)
        # A name has one type, which precedes all of its values.
        types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
        self.assertEqual(len(types), len(set(types)))

    def test_closing(self):
        self.host.family.answers["connections"] = [connection(state="closing")]
        self.assertFalse([line for line in metrics.lines(self.host.family) if "role=" in line])

    def test_file(self):
        path = self.host.path("/rpcrdma.prom")
        self.assertEqual(self.run_tool("metrics", "-o", path), (0, ""))
        self.assertIn("rpcrdma_mr_shortages_total 0",
                      pathlib.Path(path).read_text("utf-8"))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o644)


class Reload(Test):
    def setUp(self):
        super().setUp()
        self.host.file("/proc/self/mountstats", "")

    def serve(self):
        self.host.file("/proc/fs/nfsd/threads", "8")
        self.host.file("/proc/fs/nfsd/portlist", "rdma 20049\nrdma 20049\ntcp 2049")

    def modprobes(self):
        return [command for command in self.host.ran if command[0] == "modprobe"]

    def test_mounted(self):
        self.host.file("/proc/self/mountstats", MOUNTSTATS)
        code, text = self.run_tool("reload")
        self.assertEqual((code, text), (1, "/mnt is mounted: umount /mnt\n"))
        self.assertFalse(self.modprobes())

    def test_held(self):
        self.host.file("/sys/module/rpcrdma/holders/other/x", "")
        self.assertEqual(self.run_tool("reload"),
                         (1, "module other uses it: modprobe -r other\n"))

    def test_client(self):
        code, text = self.run_tool("reload")
        self.assertEqual((code, text), (0, "loaded: 0.2 (A1)\n"))
        self.assertEqual(self.modprobes(),
                         [("modprobe", "-r", "rpcrdma"), ("modprobe", "rpcrdma")])

    def test_unit(self):
        self.serve()
        code, text = self.run_tool("reload")
        self.assertEqual(code, 0)
        self.assertIn("nfsd serves again, at RDMA port 20049", text)
        order = [command[:2] for command in self.host.ran
                 if command[0] == "modprobe" or command[1] in ("stop", "start")]
        self.assertEqual(order, [("systemctl", "stop"), ("modprobe", "-r"),
                                 ("modprobe", "rpcrdma"), ("systemctl", "start")])

    def test_unit_without_rdma(self):
        """If the listener is not in nfs.conf, reload adds it again."""
        self.serve()
        self.host.starts = lambda: self.host.file("/proc/fs/nfsd/portlist", "tcp 2049")
        self.run_tool("reload")
        self.assertEqual(self.host.read("/proc/fs/nfsd/portlist"), "rdma 20049")

    def test_no_unit(self):
        self.serve()
        self.host.failing = ("systemctl",)
        self.assertEqual(self.run_tool("reload")[0], 0)
        self.assertEqual(self.host.read("/proc/fs/nfsd/threads"), "8")
        # The file contains the last line that was written to it.
        self.assertEqual(self.host.read("/proc/fs/nfsd/portlist"), "tcp 2049")

    def test_no_rdma_listener(self):
        """Without the module, nfsd serves its other clients."""
        write = reloading.write

        def without_rdma(system, name, text):
            if text.startswith("rdma"):
                raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported", name)
            write(system, name, text)

        for failing in (("modprobe",), ("modprobe", "systemctl")):
            self.serve()
            self.host.failing = failing
            self.host.starts = lambda: self.host.file("/proc/fs/nfsd/portlist", "tcp 2049")
            with unittest.mock.patch.object(reloading, "write", without_rdma):
                code, text = self.run_tool("reload")
            self.assertEqual(code, 1)
            self.assertIn("nfsd does not listen at rdma 20049: Protocol not supported\n", text)
            self.assertNotIn("serves again", text)
            self.assertEqual(self.host.read("/proc/fs/nfsd/threads"), "8")
            self.assertEqual(self.host.read("/proc/fs/nfsd/portlist"), "tcp 2049")

    def test_in_use(self):
        self.serve()
        self.host.file("/sys/module/rpcrdma/refcnt", "1")
        code, text = self.run_tool("reload", "-t", "0")
        self.assertEqual(code, 1)
        self.assertIn("still in use", text)
        self.assertFalse(self.modprobes())
        self.assertIn("serves again", text)

    def test_dry_run(self):
        self.serve()
        self.assertEqual(self.run_tool("reload", "--dry-run"),
                         (0, "nfsd stops: its clients wait\n"))
        self.assertFalse(self.modprobes())

    def test_not_loaded(self):
        self.host.remove("/sys/module/rpcrdma")
        self.assertEqual(reloading.reload(self.host, io.StringIO()), 1)


class Completion(unittest.TestCase):
    """bash completes what the command line accepts."""

    def complete(self, *words):
        script = ('source "$1"; COMP_WORDS=(rpcrdma-ctl "${@:2}"); COMP_CWORD=$(($# - 1)); '
                  '_rpcrdma_ctl; printf "%s\\n" "${COMPREPLY[@]}"')
        run = subprocess.run(["bash", "-c", script, "bash", str(HERE / "completion"), *words],
                             capture_output=True, text=True, check=True)
        self.assertEqual(run.stderr, "")
        return set(run.stdout.split())

    def test_commands(self):
        self.assertEqual(self.complete(""), set(main.RUN) | {"--help"})
        self.assertEqual(self.complete("st"), {"status"})

    def test_options(self):
        commands = next(action for action in main.arguments()._actions
                        if action.dest == "command").choices
        for name, parser in commands.items():
            if name == "secrets":       # a folder
                continue
            options = {option for action in parser._actions
                       for option in action.option_strings if option.startswith("--")}
            with self.subTest(name):
                self.assertEqual(self.complete(name, "-") - {"--"}, options)

    def test_presets(self):
        self.assertEqual(self.complete("trace", "-p", ""), set(trace.PRESETS))


class Recipes(unittest.TestCase):
    """
    Each finding has a test in a guest, too. The simulated host above shows what the doctor
    concludes; the guest shows that the kernel's files lead to it.
    """

    def test_provoked(self):
        source = pathlib.Path(doctor.__file__).read_text(encoding="utf-8")
        names = {name.replace("_", "-") for name in doctor.COUNTED}
        names.update(re.findall(r'add(?:_of)?\((?:connection, )?"([a-z0-9-]+)"', source))
        self.assertGreater(len(names), 50)
        guest = pathlib.Path(__file__).parents[2] / "guest"
        for file in guest.rglob("*.sh"):
            text = file.read_text(encoding="utf-8").replace("\\\n", " ")
            # found ctl NAME..., raised ctl_server COUNTER...
            for line in re.findall(r"\b(?<!not_)(?:found|raised)[ \t]+([\w \t-]+)", text):
                names.difference_update(word.replace("_", "-") for word in line.split())
        self.assertFalse(names, f"without a recipe: {', '.join(sorted(names))}")


class Results(unittest.TextTestResult):
    """One line for each test."""

    @staticmethod
    def name(test):
        return test.id().partition(".")[2].replace(".test_", ".").replace("_", "-")

    def addSuccess(self, test):
        super().addSuccess(test)
        print(f"ok {self.name(test)}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        print(f"not ok {self.name(test)} - {str(err[1]).splitlines()[0]}")

    def addError(self, test, err):
        super().addError(test, err)
        print(f"not ok {self.name(test)} - {err[0].__name__}: {err[1]}")


if __name__ == "__main__":
    sys.exit(not unittest.main(
        exit=False, testRunner=unittest.TextTestRunner(
            resultclass=Results, verbosity=0)).result.wasSuccessful())
