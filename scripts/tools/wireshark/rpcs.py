# SPDX-License-Identifier: GPL-2.0
"""Messages of RPC-over-RDMA and of NFS, for the dissector's tests."""

from packets import CLIENT, SERVER, words

RESPONSE, MORE, TPMORE = 1, 2, 4
MSG, NOMSG, DONE, ERROR, CONNPROP = 0, 1, 3, 4, 5
NFS = 100003
FILE = bytes(range(32))


def opaque(data):
    return words(len(data)) + data + bytes(-len(data) % 4)


def hyper(n):
    return words(n >> 32, n & 0xffffffff)


def call(xid, version, procedure, arguments=b"", program=NFS):
    return words(xid, 0, 2, program, version, procedure, 0, 0, 0, 0) + arguments


def reply(xid, results=b""):
    return words(xid, 1, 0, 0, 0, 0) + results


def data_of(length, seed=0):
    return bytes((seed + i * 7 + i // 256) % 256 for i in range(length))


# NFS version 3

def getattr_call(xid):
    return call(xid, 3, 1, opaque(FILE))


def getattr_reply(xid):
    return reply(xid, words(0, 1, 0o644, 1, 0, 0) + hyper(4096) + hyper(4096) + hyper(0) +
                 hyper(1) + hyper(2) + words(1, 2, 3, 4, 5, 6))


def read_call(xid, length):
    return call(xid, 3, 6, opaque(FILE) + hyper(0) + words(length))


def read_reply(xid, data):
    """Return the Reply and the Position of its data."""
    head = reply(xid, words(0, 0, len(data), 1, len(data)))
    return head + data + bytes(-len(data) % 4), len(head)


def write_call(xid, data):
    head = call(xid, 3, 7, opaque(FILE) + hyper(0) + words(len(data), 2, len(data)))
    return head + data + bytes(-len(data) % 4), len(head)


def write_reply(xid, length):
    return reply(xid, words(0, 0, 0, length, 2) + hyper(99))


# NFS version 4.1: SEQUENCE, PUTFH, READ, and a GETATTR that returns the length of the data

SESSION = data_of(16, 3)


def read4_call(xid, length):
    return call(xid, 4, 1, opaque(b"") + words(1, 4) +
                words(53) + SESSION + words(1, 0, 0, 0) +
                words(22) + opaque(FILE) +
                words(25) + bytes(16) + hyper(0) + words(length) +
                words(9, 1, 1 << 4))


def read4_reply(xid, data):
    head = reply(xid, words(0) + opaque(b"") + words(4) +
                 words(53, 0) + SESSION + words(1, 0, 0, 0, 0) +
                 words(22, 0) + words(25, 0, 1, len(data)))
    tail = words(9, 0, 1, 1 << 4) + opaque(hyper(len(data)))
    return head + data + bytes(-len(data) % 4) + tail, len(head)


# Headers

def segment(handle, data, address):
    return words(handle, len(data) if isinstance(data, bytes) else data) + hyper(address)


def reads(*entries):
    """Return a Read list. Each entry is Position, handle, data and address."""
    return b"".join(words(1, p) + segment(h, d, a) for p, h, d, a in entries) + words(0)


def array(segments):
    return words(1, len(segments)) + b"".join(segment(*s) for s in segments)


def writes(*chunks):
    return b"".join(array(c) for c in chunks) + words(0)


def reply_chunk(segments=None):
    return array(segments) if segments else words(0)


PLAIN = words(0, 0, 0)


class Version2:
    """The headers of version 2, with the credits that each end grants."""

    version = 2

    def __init__(self, link):
        self.link = link
        self.sent = [0, 0]

    def prefix(self, side, htype, xid, flags):
        received = self.sent[1 - side]
        self.sent[side] += 1
        return words(xid, 2, 32, htype, flags, received)

    def send(self, side, htype, xid, flags=0, body=b"", invalidate=None):
        return self.link.send(side, self.prefix(side, htype, xid, flags) + body, invalidate)

    def open(self):
        def prop(number, value):
            return words(number, 4, value)
        own = prop(1, 4096) + prop(2, 4096) + prop(3, 1 << 20) + prop(4, 64) + \
            prop(0xf0000001, 3) + prop(0xf0000002, 262144)
        self.send(CLIENT, CONNPROP, 0, 0, words(7) + own + prop(5, 2))
        self.send(SERVER, CONNPROP, 0, 0, words(6) + own)
        self.send(CLIENT, NOMSG, 0, 0, words(0) + PLAIN)

    def rpc(self, side, xid, message, lists=PLAIN, handle=0, response=False, more=False,
            invalidate=None):
        flags = (RESPONSE if response else 0) | (MORE if more else 0)
        htype = MSG if message else NOMSG
        return self.send(side, htype, xid, flags, words(handle) + lists + message, invalidate)


class Version1:
    """The headers of version 1, with the credits that each end grants."""

    version = 1

    def __init__(self, link):
        self.link = link

    def open(self):
        pass

    def rpc(self, side, xid, message, lists=PLAIN, handle=0, response=False, more=False,
            invalidate=None):
        return self.link.send(side, words(xid, 1, 32, MSG if message else NOMSG) + lists +
                              message, invalidate)
