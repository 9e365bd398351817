# SPDX-License-Identifier: GPL-2.0
"""Tests of rpcrdma-ctl doctor: its findings, counters and recipes."""

import json
import pathlib
import re
import unittest

from test_host import Family, IN_TREE, KERNEL, MOUNTSTATS, TOP, Test, UPDATES, connection
from rpcrdma_ctl import doctor


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
