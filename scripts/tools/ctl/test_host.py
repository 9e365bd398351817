# SPDX-License-Identifier: GPL-2.0
"""A simulated host, on which the tests of rpcrdma-ctl run it."""

import io
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path.insert(0, str(HERE))

from rpcrdma_ctl import doctor, main, netlink  # noqa: E402
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
