# SPDX-License-Identifier: GPL-2.0
"""Tests of the netlink interface, and of the events it reports."""

import errno
import json
import re
import struct
import unittest

from test_host import TOP, Test
from rpcrdma_ctl import netlink


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
