# SPDX-License-Identifier: GPL-2.0
"""Tests of the other commands, and of their completion by bash."""

import errno
import io
import json
import os
import pathlib
import subprocess
import unittest
import unittest.mock

from test_host import HERE, MOUNTSTATS, Test, connection
from rpcrdma_ctl import main, metrics, status, top, trace
from rpcrdma_ctl import reload as reloading


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
