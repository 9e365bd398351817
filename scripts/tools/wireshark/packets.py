# SPDX-License-Identifier: GPL-2.0
"""Capture files with RDMA connections, for the dissector's tests.

A link has two sides, "client" and "server". Each of its methods adds the packets of an
operation to its capture: a Send, an RDMA Read or an RDMA Write. The payload is divided into
packets as a device divides it. Each method returns the number of its last frame."""

import struct

CLIENT, SERVER = 0, 1


def words(*values):
    return struct.pack(">%dI" % len(values), *values)


class Capture:
    """A file in pcap format."""

    def __init__(self, path, linktype=1, snaplen=262144):
        self.file = open(path, "wb")
        self.snaplen = snaplen
        self.frames = 0
        self.file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, snaplen, linktype))

    def add(self, packet):
        self.frames += 1
        kept = packet[:self.snaplen]
        self.file.write(struct.pack("<IIII", 1600000000 + self.frames // 1000,
                                    self.frames % 1000 * 1000, len(kept), len(packet)) + kept)
        return self.frames

    def close(self):
        self.file.close()


def ethernet(side, ethertype, payload):
    macs = (b"\x02\0\0\0\0\x01", b"\x02\0\0\0\0\x02")
    return macs[1 - side] + macs[side] + struct.pack(">H", ethertype) + payload


def ipv4(side, protocol, payload):
    addresses = (bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0) + \
        addresses[side] + addresses[1 - side] + payload


# Opcodes of reliable connections
SEND = (0, 1, 2, 4)                 # first, middle, last, only
SEND_INVALIDATE = (0, 1, 22, 23)
WRITE = (6, 7, 8, 10)
READ_REQUEST = 12
READ_RESPONSE = (13, 14, 15, 16)
ACKNOWLEDGE = 17
UD_SEND_ONLY = 100


class InfiniBand:
    """A reliable connection. A subclass defines the encapsulation of its packets."""

    number = 0
    handles = 0         # added to the handles of this connection

    def __init__(self, capture, mtu=1024, cm=True):
        self.capture, self.mtu, self.cm = capture, mtu, cm
        InfiniBand.number += 1
        self.qpn = (0x100 + 2 * InfiniBand.number, 0x1001 + 2 * InfiniBand.number)
        self.psn = [0xfffffe, 77]
        self.lost = lambda side, opcode: False

    def wrap(self, side, packet):
        raise NotImplementedError

    def packet(self, side, opcode, psn, extra=b"", payload=b"", qpn=None):
        pad = -len(payload) % 4
        header = struct.pack(">BBHII", opcode, 0x40 | pad << 4, 0xffff,
                             self.qpn[1 - side] if qpn is None else qpn, psn % (1 << 24))
        if self.lost(side, opcode):
            return self.capture.frames
        return self.capture.add(self.wrap(side, header + extra + payload + bytes(pad)))

    def next_psn(self, side, count=1):
        psn = self.psn[side]
        self.psn[side] = (psn + count) % (1 << 24)
        return psn

    def split(self, data):
        return [data[i:i + self.mtu] for i in range(0, len(data), self.mtu)] or [b""]

    def message(self, side, opcodes, data, first=b"", last=b"", psn=None):
        parts = self.split(data)
        frame = None
        for i, part in enumerate(parts):
            begins, ends = i == 0, i == len(parts) - 1
            opcode = opcodes[3 if begins and ends else 0 if begins else 2 if ends else 1]
            extra = (first if begins else b"") + (last if ends else b"")
            frame = self.packet(side, opcode, self.next_psn(side) if psn is None else psn + i,
                                extra, part)
        return frame

    def acknowledge(self, side, psn):
        self.packet(side, ACKNOWLEDGE, psn, words(0x1f000000))

    def send(self, side, data, invalidate=None):
        opcodes = SEND if invalidate is None else SEND_INVALIDATE
        frame = self.message(side, opcodes, data,
                             last=b"" if invalidate is None else words(invalidate))
        self.acknowledge(1 - side, self.psn[side] - 1)
        return frame

    def read(self, side, handle, address, data):
        count = len(self.split(data))
        psn = self.next_psn(side, count)
        self.packet(side, READ_REQUEST, psn, struct.pack(">QII", address, handle, len(data)))
        # The first and the last response have an AETH.
        parts = self.split(data)
        frame = None
        for i, part in enumerate(parts):
            opcode = READ_RESPONSE[3 if count == 1 else 0 if i == 0 else
                                   2 if i == count - 1 else 1]
            extra = words(0x1f000000) if opcode != READ_RESPONSE[1] else b""
            frame = self.packet(1 - side, opcode, psn + i, extra, part)
        return frame

    def write(self, side, handle, address, data):
        return self.message(side, WRITE, data, struct.pack(">QII", address, handle, len(data)))

    def connect(self, private=(b"", b""), port=20049):
        """The connection manager's REQ, REP and RTU."""
        if not self.cm:
            return
        ip_cm = struct.pack(">BBH", 0, 0x40, 40000) + bytes(12) + bytes((192, 0, 2, 1)) + \
            bytes(12) + bytes((192, 0, 2, 2))
        identifier = 1000 + self.number
        gids = self.gid(CLIENT) + self.gid(SERVER)
        service = (0x0000000001060000 | port).to_bytes(8, "big")
        req = words(identifier, 0) + service + bytes(8) + bytes(4) + bytes(4) + \
            words(self.qpn[CLIENT] << 8 | 16, 16, 16, self.psn[CLIENT] << 8 | 7,
                  0xffff3fff) + self.lids() + gids + bytes(8) + bytes(4 + 32 + 8)
        self.mad(CLIENT, 0x10, identifier, (req + ip_cm + private[0].ljust(56, b"\0")))
        rep = words(2000 + self.number, identifier, 0, self.qpn[SERVER] << 8, 0,
                    self.psn[SERVER] << 8, 0x1010 << 16 | 0xffff) + bytes(8) + \
            private[1].ljust(196, b"\0")
        self.mad(SERVER, 0x13, identifier, rep)
        self.mad(CLIENT, 0x14, identifier, words(identifier, 2000 + self.number).ljust(232, b"\0"))

    def mad(self, side, attribute, transaction, data):
        header = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, transaction, attribute, 0, 0)
        self.packet(side, UD_SEND_ONLY, 0, words(0x80010000, 1),
                    (header + data)[:256].ljust(256, b"\0"), qpn=1)

    def lids(self):
        return struct.pack(">HH", 0xffff, 0xffff)

    def gid(self, side):
        return bytes(10) + b"\xff\xff" + bytes((192, 0, 2, 1 + side))


class RoCE(InfiniBand):
    """RoCE version 2, over UDP."""

    linktype = 1

    def wrap(self, side, packet):
        udp = struct.pack(">HHHH", 49152, 4791, 12 + len(packet), 0) + packet + bytes(4)
        return ethernet(side, 0x0800, ipv4(side, 17, udp))


class RoCE1(InfiniBand):
    """RoCE version 1: with a global route header, on Ethernet."""

    linktype = 1

    def wrap(self, side, packet):
        route = struct.pack(">IHBB", 6 << 28, len(packet) + 4, 0x1b, 64) + \
            self.gid(side) + self.gid(1 - side)
        return ethernet(side, 0x8915, route + packet + bytes(4))


class Native(InfiniBand):
    """InfiniBand, with local routes, in records of the format ERF."""

    linktype = 197

    def wrap(self, side, packet):
        length = (8 + len(packet) + 4) // 4
        packet = struct.pack(">BBHHH", 0, 2, 2 - side, length, 1 + side) + packet + bytes(6)
        return bytes(8) + struct.pack(">BBHHH", 21, 4, 16 + len(packet), 0, len(packet)) + packet

    def lids(self):
        return struct.pack(">HH", 1, 2)


class Iwarp:
    """iWARP over TCP: MPA without markers and checksums, DDP, RDMAP."""

    linktype = 1
    number = 0
    handles = 0         # added to the handles of this connection

    def __init__(self, capture, mtu=1024, cm=True):
        self.capture, self.mtu, self.cm = capture, mtu, cm
        Iwarp.number += 1
        self.ports = (50000 + Iwarp.number, 20049)
        self.sequence = [1000, 5000]
        self.msn = [0, 0]
        self.read_msn = [0, 0]
        self.sink = 0x70000000

    def tcp(self, side, data, flags=0x18):
        header = struct.pack(">HHIIBBHHH", self.ports[side], self.ports[1 - side],
                             self.sequence[side], self.sequence[1 - side], 0x50, flags,
                             65535, 0, 0)
        self.sequence[side] += len(data) + (flags >> 1 & 1)
        return self.capture.add(ethernet(side, 0x0800, ipv4(side, 6, header + data)))

    def connect(self, private=(b"", b""), port=20049):
        self.ports = (self.ports[0], port)
        self.tcp(CLIENT, b"", 2)
        self.tcp(SERVER, b"", 0x12)
        for side, key in ((CLIENT, b"MPA ID Req Frame"), (SERVER, b"MPA ID Rep Frame")):
            self.tcp(side, key + struct.pack(">BBH", 0, 1, len(private[side])) + private[side])

    def fpdu(self, side, ulpdu):
        pad = -(2 + len(ulpdu)) % 4
        return self.tcp(side, struct.pack(">H", len(ulpdu)) + ulpdu + bytes(pad) + bytes(4))

    def split(self, data):
        return [data[i:i + self.mtu] for i in range(0, len(data), self.mtu)] or [b""]

    def untagged(self, side, opcode, queue, msn, data, word=0):
        at, frame = 0, None
        parts = self.split(data)
        for i, part in enumerate(parts):
            last = 0x40 if i == len(parts) - 1 else 0
            frame = self.fpdu(side, struct.pack(">BBIIII", last | 1, 0x40 | opcode, word, queue,
                                                msn, at) + part)
            at += len(part)
        return frame

    def tagged(self, side, opcode, tag, offset, data):
        frame = None
        parts = self.split(data)
        for i, part in enumerate(parts):
            last = 0x40 if i == len(parts) - 1 else 0
            frame = self.fpdu(side, struct.pack(">BBIQ", 0x80 | last | 1, 0x40 | opcode, tag,
                                                offset) + part)
            offset += len(part)
        return frame

    def send(self, side, data, invalidate=None):
        self.msn[side] += 1
        return self.untagged(side, 3 if invalidate is None else 4, 0, self.msn[side], data,
                             invalidate or 0)

    def read(self, side, handle, address, data):
        self.sink += 1
        self.read_msn[side] += 1
        request = struct.pack(">IQIIQ", self.sink, 0x1000, len(data), handle, address)
        self.untagged(side, 1, 1, self.read_msn[side], request)
        return self.tagged(1 - side, 2, self.sink, 0x1000, data)

    def write(self, side, handle, address, data):
        return self.tagged(side, 0, handle, address, data)
