# SPDX-License-Identifier: GPL-2.0
"""The generic netlink family "rpcrdma" (Documentation/netlink/specs/rpcrdma.yaml)."""

import errno
import ipaddress
import os
import socket
import struct

FAMILY = "rpcrdma"
GROUP = "connections"

NETLINK_GENERIC = 16
SOL_NETLINK = 270
NETLINK_ADD_MEMBERSHIP = 1
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 16, 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME, CTRL_ATTR_MCAST_GROUPS = 1, 2, 7
CTRL_ATTR_MCAST_GRP_NAME, CTRL_ATTR_MCAST_GRP_ID = 1, 2

# Names in the order of their numbers in include/uapi/linux/rpcrdma_netlink.h
COMMANDS = ["number-get", "counter-get", "connection-get", "connection-ntf", "listener-get"]
SETS = {
    "number": ["name", "unit", "kind", "value", "pad"],
    "connection": ["role", "local", "remote", "version", "why", "state", "fallback",
                   "reason", "numbers", "id", "pad", "auth", "auth-hash", "identity",
                   "auth-dh"],
    "listener": ["local", "listening"],
}


class Unavailable(Exception):
    """The module is not loaded, or it has no such family."""


def attributes(data):
    """Yield type and payload of each attribute in data."""
    at = 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            return
        yield kind & 0x3fff, data[at + 4:at + length]
        at += (length + 3) & ~3


def attribute(kind, payload):
    """Return one attribute, padded."""
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + b"\0" * (-length % 4)


def address(data):
    """Return the address and port in a struct sockaddr, or None."""
    family = struct.unpack_from("=H", data)[0]
    port = struct.unpack_from("!H", data, 2)[0]
    if family == socket.AF_INET:
        return {"address": str(ipaddress.IPv4Address(data[4:8])), "port": port}
    if family == socket.AF_INET6:
        return {"address": str(ipaddress.IPv6Address(data[8:24])), "port": port}
    return None


def text(where):
    """Return an address and port in the notation of a URL."""
    if not where:
        return "?"
    host = where["address"]
    return f"[{host}]:{where['port']}" if ":" in host else f"{host}:{where['port']}"


def decode(name, data, numbers=()):
    """Return the attributes of a message of the set name as a dictionary."""
    result = {}
    for kind, payload in attributes(data):
        if not 0 < kind <= len(SETS[name]):
            continue
        key = SETS[name][kind - 1]
        if key in ("local", "remote"):
            result[key] = address(payload)
        elif key == "numbers":
            values = struct.unpack(f"={len(payload) // 8}Q", payload)
            result[key] = dict(zip(numbers, values))
        elif key == "version":
            result[key] = struct.unpack("=I", payload)[0]
        elif key in ("value", "id"):
            result[key] = struct.unpack("=Q", payload)[0]
        elif key in ("fallback", "listening"):
            result[key] = True
        elif key != "pad":
            result[key] = payload.rstrip(b"\0").decode()
    for flag in ("fallback", "listening"):
        if flag in SETS[name]:
            result.setdefault(flag, False)
    return result


class Netlink:
    """The family, in the network namespace of this process."""

    def __init__(self):
        self.sequence = 0
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.bind((0, 0))
        self.family, self.groups = self._resolve()
        self.names = None

    def _send(self, family, command, payload, flags):
        self.sequence += 1
        body = struct.pack("=BBH", command, 1, 0) + payload
        self.socket.send(struct.pack("=IHHII", 16 + len(body), family,
                                     NLM_F_REQUEST | flags, self.sequence, 0) + body)

    def _messages(self):
        """Yield command and attributes of each message of one datagram."""
        data = self.socket.recv(1 << 17)
        at = 0
        while at + 16 <= len(data):
            length, kind, _, sequence, _ = struct.unpack_from("=IHHII", data, at)
            yield kind, sequence, data[at + 16:at + length]
            at += (length + 3) & ~3

    def _request(self, family, command, payload=b"", flags=NLM_F_DUMP):
        """Yield the attributes of each answer."""
        self._send(family, command, payload, flags)
        while True:
            for kind, sequence, body in self._messages():
                if sequence != self.sequence:
                    continue
                if kind == NLMSG_ERROR:
                    code = -struct.unpack_from("=i", body)[0]
                    if code:
                        raise OSError(code, os.strerror(code))
                    return
                if kind == NLMSG_DONE:
                    return
                yield body[4:]

    def _resolve(self):
        name = attribute(CTRL_ATTR_FAMILY_NAME, FAMILY.encode() + b"\0")
        family, groups = None, {}
        try:
            for body in self._request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, name, NLM_F_ACK):
                for kind, payload in attributes(body):
                    if kind == CTRL_ATTR_FAMILY_ID:
                        family = struct.unpack("=H", payload)[0]
                    elif kind == CTRL_ATTR_MCAST_GROUPS:
                        for _, group in attributes(payload):
                            group = dict(attributes(group))
                            groups[group[CTRL_ATTR_MCAST_GRP_NAME].rstrip(b"\0").decode()] = \
                                struct.unpack("=I", group[CTRL_ATTR_MCAST_GRP_ID])[0]
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
        if family is None:
            raise Unavailable(f'no netlink family "{FAMILY}"')
        return family, groups

    def _dump(self, command, name):
        answers = self._request(self.family, COMMANDS.index(command) + 1)
        return [decode(name, body, self.names or ()) for body in answers]

    def numbers(self):
        """Return the descriptions of the numbers of a connection."""
        return self._dump("number-get", "number")

    def counters(self):
        return self._dump("counter-get", "number")

    def listeners(self):
        return self._dump("listener-get", "listener")

    def connections(self):
        if self.names is None:
            self.names = [number["name"] for number in self.numbers()]
        return self._dump("connection-get", "connection")

    def events(self):
        """
        Yield each connection when it opens or closes, and None when the kernel has dropped
        some of these events, because they were not read in time.
        """
        self.connections()
        self.socket.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, self.groups[GROUP])
        while True:
            try:
                for kind, _, body in self._messages():
                    if kind == self.family and body[0] == COMMANDS.index("connection-ntf") + 1:
                        yield decode("connection", body[4:], self.names)
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                yield None
