#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Tests of the dissector: captures that packets.py writes, decoded by tshark.

    test.py DECODE FOLDER

DECODE is the program of "make -C kunit/core decode". The captures are written to FOLDER. One
part decodes each message of the fuzzers' corpora, and compares its fields with those that the
core's codecs read. The other part conveys RPCs in all forms, and compares their data with the
data that the NFS dissector found.
Prints "ok NAME" or "not ok NAME - why" for each test."""

import json
import os
import struct
import subprocess
import sys

from packets import CLIENT, SERVER, Capture, Iwarp, Native, RoCE, RoCE1, words
from rpcs import (CONNPROP, DONE, ERROR, MORE, MSG, NOMSG, PLAIN, RESPONSE, Version1, Version2,
                  call, data_of, getattr_call, getattr_reply, read4_call, read4_reply,
                  read_call, read_reply, reads, reply, reply_chunk, write_call, write_reply, writes)

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "../../../kunit/core/fuzz/corpus")
SCRIPT = os.path.join(HERE, "rpcrdma2.lua")


class Failed(Exception):
    pass


def require(condition, *why):
    if not condition:
        raise Failed(" ".join(str(w) for w in why))


def tshark(path, *more):
    run = subprocess.run(["tshark", "-r", path, "-X", "lua_script:" + SCRIPT, *more],
                         capture_output=True, text=True, errors="replace", check=False)
    said = [line for line in run.stderr.splitlines() if "Running as user" not in line]
    require(run.returncode == 0 and not said, "tshark:", run.returncode, *said[:3])
    return run.stdout


def layers(path, *more):
    """Return the layers of each frame; the value of a repeated name is a list."""
    out = tshark(path, "-T", "json", "--no-duplicate-keys", *more)
    return [packet["_source"]["layers"] for packet in json.loads(out)]


def find(tree, name):
    """Return all values of a field in a tree, in order."""
    found = []
    if isinstance(tree, list):
        for part in tree:
            found += find(part, name)
    elif isinstance(tree, dict):
        for key, part in tree.items():
            if key == name:
                found += part if isinstance(part, list) else [part]
            elif isinstance(part, (dict, list)):
                found += find(part, name)
    return found


def number(text):
    return int(text, 0) if text not in ("True", "False") else int(text == "True")


def numbers(tree, name):
    return [number(text) for text in find(tree, "rpcrdma2." + name)]


def one(tree, name):
    values = numbers(tree, name)
    return values[0] if values else None


# Part 1: fields, compared with the core's codecs

HTYPES = {"msg": MSG, "nomsg": NOMSG, "done": DONE, "error": ERROR, "connprop": CONNPROP}
RAW_STATE = 64


def corpus_messages():
    """Yield the messages that the fuzz targets build from the files of the corpora."""
    for target in sorted(list(HTYPES) + ["v1"]):
        folder = os.path.join(CORPUS, target)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read()
            state, message = data[0], bytearray(data[1:])
            if target == "v1":
                if len(message) >= 8:
                    message[4:8] = words(1)
            else:
                if len(message) >= 16:
                    message[12:16] = words(HTYPES[target])
                if not state & RAW_STATE and len(message) >= 8:
                    message[4:8] = words(2)
            yield target + "/" + name, bytes(message)


def hand_made_messages():
    """Yield kinds of messages that the corpora lack."""
    def head(htype, flags=0, xid=7):
        return words(xid, 2, 16, htype, flags, 1)
    for htype in (2, 6, 0xffffffff):
        yield "header-type-%d" % htype, head(htype)
    for flags in (1, 2, 3, 4, 8, 0xfffffff8):
        yield "flags-%x" % flags, head(MSG, flags) + words(0) + PLAIN + call(7, 3, 0)
    for length in (0, 1, 15, 16, 20, 23, 24, 27, 28, 36, 40):
        yield "length-%d" % length, (head(MSG) + words(0) + PLAIN)[:length]
    for version in (0, 3, 0xffffffff):
        yield "version-%d" % version, words(7, version, 16, 0, 0, 0, 0)
    for at in (28, 32, 36):
        message = bytearray(head(MSG) + words(0) + PLAIN + call(7, 3, 0))
        message[at:at + 4] = words(2)
        yield "boolean-%d" % at, bytes(message)


def codec(decode, messages):
    stream = b"".join(words(len(m)) + m for m in messages)
    out = subprocess.run([decode], input=stream, capture_output=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def segments_of(tree):
    return list(zip(numbers(tree, "segment.handle"), numbers(tree, "segment.length"),
                    numbers(tree, "segment.offset")))


def experts(tree):
    return find(tree, "_ws.expert.message")


def compare(tree, expected):
    """Require that the dissector shows the fields that the codec reads."""
    require(tree is not None, "not recognised")
    if find(tree, "rpcrdma2.error.highest"):
        # The codec does not know whether this is the peer's first answer.
        expected = {name: expected[name] for name in ("xid", "version", "credit", "proc")}
        require(one(tree, "error") == 1, "the error is", one(tree, "error"))
    for name in ("xid", "version", "credit", "proc", "flags", "received", "inv_handle", "error"):
        if name in expected:
            require(one(tree, name) == expected[name], name, "is", one(tree, name), "and not",
                    expected[name])
    if "fault" in expected:
        require(experts(tree), "the codec finds fault", expected["fault"])
        return
    if "props" in expected:
        default = {"send_size": 4096, "receive_size": 4096, "segment_size": 1048576,
                   "segment_count": 16, "reverse": 0, "reply_read": 0, "reassembly": 262144}
        for name, value in expected["props"].items():
            shown = numbers(tree, "prop." + name)
            require((shown or [default[name]])[-1] == value, name, "is", shown, "and not", value)
    if "payload" not in expected:
        return
    shown = segments_of(tree)
    flat = [s[1:] for s in expected["reads"]]
    positions = [s[0] for s in expected["reads"]]
    if expected["version"] == 1:      # the codec has sorted them
        require(sorted(numbers(tree, "position")) == sorted(positions), "positions")
        require(sorted(shown[:len(flat)]) == sorted(tuple(s) for s in flat), "Read list")
    else:
        require(numbers(tree, "position") == positions, "positions")
        require(shown[:len(flat)] == [tuple(s) for s in flat], "Read list")
    chunks = expected["writes"] + ([expected["reply"]] if "reply" in expected else [])
    flat = [tuple(s[1:]) for chunk in chunks for s in chunk]
    require(shown[len(positions):] == flat, "Write list or Reply chunk")
    require(numbers(tree, "segments") == [len(c) for c in chunks], "segments of chunks")
    require(one(tree, "reply_chunk") == ("reply" in expected), "Reply chunk")
    require(one(tree, "read_list") == len(positions), "segments of the Read list")
    require(one(tree, "write_list") == len(expected["writes"]), "chunks of the Write list")
    rest = expected["length"] - expected["payload"]
    if expected["proc"] == MSG and rest:
        require(one(tree, "payload.length") == rest, "payload's length")


def test_fields(decode, folder):
    """Compare each message, on a separate connection, so that none completes another."""
    named = list(corpus_messages()) + list(hand_made_messages())
    path = os.path.join(folder, "fields.pcap")
    capture = Capture(path)
    frames = []
    for _, message in named:
        link = RoCE(capture, mtu=4096)
        link.connect()
        link.acknowledge = lambda side, psn: None
        frames.append(link.send(CLIENT, message))
    capture.close()
    decoded = layers(path)
    failures = []
    for (name, message), frame, expected in zip(named, frames, codec(decode,
                                                                     [m for _, m in named])):
        # Wireshark passes no empty payload to a dissector.
        if not message:
            continue
        try:
            compare(decoded[frame - 1].get("rpcrdma2"), expected)
        except Failed as why:
            failures.append("%s: %s" % (name, why))
    require(len(named) > 150, "there are only", len(named), "messages")
    require(not failures, len(failures), "of", len(named), "messages differ:", *failures[:5])


# Part 2: RPCs

class Expected:
    """The RPCs that the frames of a capture must show"""

    def __init__(self):
        self.calls = []                 # xid, data or None
        self.replies = []


def convey_call(v, want, xid, message, position=None, data=b"", form="inline", lists=None):
    """Convey a Call in the given form. The item at the Position can be reduced."""
    base = v.link.handles
    want.calls.append((xid, data if position else None))
    tail = message[position + len(data) + (-len(data) % 4):] if position else b""
    write_lists, chunk = lists or (words(0), words(0))
    if form == "inline":
        v.rpc(CLIENT, xid, message, words(0) + write_lists + chunk)
    elif form == "continued":
        for at in range(0, len(message), 2000):
            last = at + 2000 >= len(message)
            v.rpc(CLIENT, xid, message[at:at + 2000],
                  words(0) + write_lists + chunk if last else PLAIN, more=not last)
    elif form == "read":
        half = len(data) // 2
        v.rpc(CLIENT, xid, message[:position] + tail,
              reads((position, base + 0x1001, half, 0x10000), (position, base + 0x1002, len(data) - half, 0)) +
              write_lists + chunk, handle=base + 0x1002)
        v.link.read(SERVER, base + 0x1001, 0x10000, data[:half])
        v.link.read(SERVER, base + 0x1002, 0, data[half:])
    elif form == "special":
        v.rpc(CLIENT, xid, b"", reads((0, base + 0x1101, len(message), 1 << 40)) + write_lists + chunk)
        middle = len(message) // 8 * 4
        v.link.read(SERVER, base + 0x1101, 1 << 40, message[:middle])
        v.link.read(SERVER, base + 0x1101, (1 << 40) + middle, message[middle:])
    elif form == "special-read":
        stream = message[:position] + tail
        v.rpc(CLIENT, xid, b"", reads((0, base + 0x1201, len(stream), 0),
                                      (position, base + 0x1202, len(data), 4096)) + write_lists + chunk)
        v.link.read(SERVER, base + 0x1202, 4096, data)
        v.link.read(SERVER, base + 0x1201, 0, stream)
    else:
        raise ValueError(form)


def convey_reply(v, want, xid, message, position=None, data=b"", form="inline"):
    base = v.link.handles
    want.replies.append((xid, data if position else None))
    tail = message[position + len(data) + (-len(data) % 4):] if position else b""
    if form == "inline":
        v.rpc(SERVER, xid, message, response=True)
    elif form == "continued":
        for at in range(0, len(message), 2000):
            last = at + 2000 >= len(message)
            v.rpc(SERVER, xid, message[at:at + 2000], response=True, more=not last)
    elif form == "write":
        half = len(data) // 8 * 4
        v.link.write(SERVER, base + 0x2001, 0x5000, data[:half])
        v.link.write(SERVER, base + 0x2002, 0xfffffffff000, data[half:])
        v.rpc(SERVER, xid, message[:position] + tail,
              words(0) + writes([(base + 0x2001, half, 0x5000), (base + 0x2002, len(data) - half,
                                                          0xfffffffff000)]) + words(0),
              response=True, invalidate=base + 0x2001)
    elif form == "reply-chunk":
        v.link.write(SERVER, base + 0x3001, 64, message[:2000])
        v.link.write(SERVER, base + 0x3001, 64 + 2000, message[2000:])
        v.rpc(SERVER, xid, b"", words(0, 0) + reply_chunk([(base + 0x3001, len(message), 64)]),
              response=True)
    elif form == "pulled":
        v.rpc(SERVER, xid, b"", reads((0, base + 0x4001, len(message), 8192)) + words(0, 0),
              handle=base + 0x4001, response=True)
        v.link.read(CLIENT, base + 0x4001, 8192, message)
        v.send(CLIENT, DONE, xid, invalidate=base + 0x4001)
    else:
        raise ValueError(form)


def write_chunk(size, base=0):
    half = size // 8 * 4
    return (writes([(base + 0x2001, half, 0x5000), (base + 0x2002, size - half, 0xfffffffff000)]), words(0))


ONE_REPLY_CHUNK = (words(0), reply_chunk([(0x3001, 65536, 64)]))


def convey_all(v, want, xid=0x1000):
    """Convey RPCs in each form that the version has."""
    v.open()
    two = v.version == 2
    convey_call(v, want, xid, getattr_call(xid))
    convey_reply(v, want, xid, getattr_reply(xid))
    for form, size in (("inline", 800), ("continued", 8001), ("read", 20003), ("special", 7002),
                       ("special-read", 9001)):
        if form == "continued" and not two:
            continue
        xid += 1
        data = data_of(size, xid)
        message, position = write_call(xid, data)
        convey_call(v, want, xid, message, position, data, form)
        convey_reply(v, want, xid, write_reply(xid, size))
    for form, size in (("inline", 700), ("continued", 9005), ("write", 30001),
                       ("reply-chunk", 12003), ("pulled", 17001)):
        if form in ("continued", "pulled") and not two:
            continue
        xid += 1
        data = data_of(size, xid)
        lists = write_chunk(size) if form == "write" else \
            ONE_REPLY_CHUNK if form == "reply-chunk" else None
        convey_call(v, want, xid, read_call(xid, size), lists=lists)
        message, position = read_reply(xid, data)
        convey_reply(v, want, xid, message, position, data, form)
    # The item is not at the end, and a word after it has the value of its length, too.
    xid += 1
    data = data_of(5004, xid)
    convey_call(v, want, xid, read4_call(xid, len(data)), lists=write_chunk(len(data)))
    message, position = read4_reply(xid, data)
    convey_reply(v, want, xid, message, position, data, "write")
    return xid


def shown_data(tree):
    found = find(tree, "nfs.data")
    return bytes.fromhex(found[-1].replace(":", "")) if found else None


def check_clean(decoded, allowed=()):
    """Require that no frame is malformed or breaks a rule."""
    for i, tree in enumerate(decoded):
        require("_ws.malformed" not in tree, "frame", i + 1, "is malformed")
        require(not find(tree, "_ws.lua.error"), "frame", i + 1, "has an error of the script")
        for text in experts(tree.get("rpcrdma2", {})):
            require(any(a in text for a in allowed), "frame", i + 1, "says:", text)


def check_rpcs(decoded, want, data_too=True):
    calls, replies = {}, {}
    for i, tree in enumerate(decoded):
        for xid, kind in zip(find(tree, "rpc.xid"), find(tree, "rpc.msgtyp")):
            (calls if kind == "0" else replies).setdefault(number(xid), []).append((i + 1, tree))
    for xid, data in want.calls:
        require(len(calls.get(xid, ())) == 1, "Call %#x" % xid, "is decoded",
                len(calls.get(xid, ())), "times")
        if data is not None and data_too:
            require(shown_data(calls[xid][0][1]) == data, "Call %#x" % xid, "has other data")
    for xid, data in want.replies:
        require(len(replies.get(xid, ())) == 1, "Reply %#x" % xid, "is decoded",
                len(replies.get(xid, ())), "times")
        frame, tree = replies[xid][0]
        # If the data of a Call was not captured, the Call is shown in the frame of its Reply.
        require(calls[xid][0][0] in numbers_of(tree, "rpc.repframe"), "Reply %#x" % xid,
                "in frame", frame, "does not belong to the Call in", calls[xid][0][0])
        if data is not None and data_too:
            require(shown_data(tree) == data, "Reply %#x" % xid, "has other data")


def numbers_of(tree, name):
    return [number(text) for text in find(tree, name)]


PRIVATE = bytes.fromhex("f6ab0e1801010303")


def conveyed(folder, name, link_type, version, cm=True, snaplen=262144, lost=None, port=20049,
             mtu=1024, allowed=(), data_too=True, rpcs_too=True, options=()):
    path = os.path.join(folder, name.replace("/", "-") + ".pcap")
    capture = Capture(path, link_type.linktype, snaplen)
    link = link_type(capture, mtu, cm)
    if lost:
        link.lost = lost
    link.connect((PRIVATE, PRIVATE), port)
    want = Expected()
    convey_all(version(link), want)
    capture.close()
    decoded = layers(path, *options)
    check_clean(decoded, allowed)
    if rpcs_too:
        check_rpcs(decoded, want, data_too)
    return decoded


def test_matches(folder):
    """Each Reply names the frame of its Call. After two passes, each Call names its Reply's."""
    decoded = conveyed(folder, "matches", RoCE, Version2, options=("-2", "-Y", "frame"))
    pairs = 0
    for i, tree in enumerate(decoded):
        for frame in numbers(tree, "call_in"):
            if one(tree, "proc") == DONE:
                continue
            pairs += 1
            require(i + 1 in numbers(decoded[frame - 1], "reply_in"), "frame", frame,
                    "does not name its Reply", i + 1)
    require(pairs == 12, pairs, "Replies name their Calls")


def test_retransmitted(folder):
    """A packet that was captured twice is decoded once."""
    path = os.path.join(folder, "retransmitted.pcap")
    capture = Capture(path)
    link = RoCE(capture)
    add = capture.add
    capture.add = lambda packet: add(packet) and add(packet)
    link.connect((PRIVATE, PRIVATE))
    want = Expected()
    convey_all(Version2(link), want)
    capture.close()
    decoded = layers(path)
    check_clean(decoded, ("captured before",))
    check_rpcs(decoded, want)


def test_interleaved(folder):
    """Two connections between the same hosts, both captured without their beginning."""
    path = os.path.join(folder, "interleaved.pcap")
    capture = Capture(path)
    want = Expected()
    ends = [Version2(RoCE(capture, cm=False)) for _ in range(2)]
    for i, v in enumerate(ends):
        v.open()
        v.link.handles = 0x10000 * i
        convey_call(v, want, 0x100 + i, read_call(0x100 + i, 3000),
                    lists=write_chunk(3000, v.link.handles))
    for i, v in enumerate(ends):
        data = data_of(3000, i)
        message, position = read_reply(0x100 + i, data)
        convey_reply(v, want, 0x100 + i, message, position, data, "write")
    for i, v in enumerate(ends):
        data = data_of(6000, i)
        message, position = write_call(0x200 + i, data)
        convey_call(v, want, 0x200 + i, message, position, data, "read")
        convey_reply(v, want, 0x200 + i, write_reply(0x200 + i, 6000))
    capture.close()
    decoded = layers(path)
    check_clean(decoded)
    check_rpcs(decoded, want)


def test_reverse(folder):
    """Calls of the server, inline and continued, between those of the client."""
    path = os.path.join(folder, "reverse.pcap")
    capture = Capture(path)
    v = Version2(RoCE(capture))
    v.link.connect((PRIVATE, PRIVATE))
    v.open()
    callback = call(0x77, 1, 0, program=0x40000000)
    v.rpc(CLIENT, 0x55, getattr_call(0x55))
    v.rpc(SERVER, 0x77, callback)
    v.rpc(SERVER, 0x55, getattr_reply(0x55), response=True)
    v.rpc(CLIENT, 0x77, reply(0x77), response=True)
    long = call(0x78, 1, 0, bytes(3000), program=0x40000000)
    v.rpc(SERVER, 0x78, long[:2000], more=True)
    v.rpc(CLIENT, 0x56, getattr_call(0x56))
    v.rpc(SERVER, 0x78, long[2000:])
    v.rpc(CLIENT, 0x78, reply(0x78), response=True)
    v.rpc(SERVER, 0x56, getattr_reply(0x56), response=True)
    capture.close()
    decoded = layers(path)
    check_clean(decoded)
    want = Expected()
    want.calls = [(xid, None) for xid in (0x55, 0x77, 0x78, 0x56)]
    want.replies = list(want.calls)
    check_rpcs(decoded, want)


FORBIDDEN = (
    # The rule that the message breaks, the message, and the text that must be shown
    ("MORE on NOMSG", NOMSG, MORE, 7, words(0) + reads((0, 1, 40, 0)) + words(0, 0),
     "MORE belongs to"),
    ("TPMORE on MSG", MSG, 4, 7, words(0) + PLAIN + call(7, 3, 0), "TPMORE belongs to"),
    ("a reserved flag", MSG, 32, 7, words(0) + PLAIN + call(7, 3, 0), "reserved flag"),
    ("a grant with an xid", NOMSG, 0, 7, words(0) + PLAIN, "has xid 0"),
    ("a CONNPROP with RESPONSE", CONNPROP, RESPONSE, 0, words(0), "no RESPONSE"),
    ("a second CONNPROP", CONNPROP, 0, 0, words(0), "after the last one"),
    ("an ERROR without RESPONSE", ERROR, 0, 7, words(2), "has RESPONSE"),
    ("an unknown ERROR", ERROR, RESPONSE, 7, words(77), "No document"),
    ("DONE for nothing", DONE, 0, 7, b"", "No Reply is exposed"),
    ("descending Positions", MSG, 0, 7,
     words(0) + reads((40, 1, 4, 0), (36, 2, 4, 0)) + words(0, 0) + call(7, 3, 0),
     "order of Positions"),
    ("a Position that is no multiple of 4", MSG, 0, 7,
     words(0) + reads((41, 1, 4, 0)) + words(0, 0) + call(7, 3, 0), "multiple of 4"),
    ("Position 0 in MSG", MSG, 0, 7,
     words(0) + reads((0, 1, 4, 0)) + words(0, 0) + call(7, 3, 0), "Position 0"),
    ("a special Call without Position 0", NOMSG, 0, 7,
     words(0) + reads((40, 1, 4, 0)) + words(0, 0), "Position 0"),
    ("chunks in a part", MSG, MORE, 7,
     words(0) + writes([(1, 2, 3)]) .join((words(0), words(0))) + call(7, 3, 0), "last message"),
    ("an odd part", MSG, MORE, 7, words(0) + PLAIN + call(7, 3, 0) + b"x", "multiple of 4"),
    ("another xid", MSG, 0, 7, words(0) + PLAIN + call(8, 3, 0), "another xid"),
    ("another direction", MSG, RESPONSE, 7, words(0) + PLAIN + call(7, 3, 0),
     "another direction"),
    ("a handle in a Reply", MSG, RESPONSE, 7, words(5) + PLAIN + getattr_reply(7),
     "No handle may"),
    ("too long a segment", MSG, 0, 7,
     words(0) + reads((40, 1, 1 << 21, 0)) + words(0, 0) + call(7, 3, 0), "Maximum Segment Size"),
    ("too many segments", MSG, 0, 7, words(0) + reads(*[(40, i, 4, 0) for i in range(70)]) +
     words(0, 0) + call(7, 3, 0), "Maximum Segment Count"),
    ("too long a message", MSG, 0, 7, words(0) + PLAIN + call(7, 3, 0, bytes(4096)),
     "inline threshold"),
    ("a small Send Size", CONNPROP, 0, 0, words(1, 1, 4, 100), "Less than 1024"),
)


def test_forbidden(folder):
    """Messages that the draft forbids are reported."""
    path = os.path.join(folder, "forbidden.pcap")
    capture = Capture(path)
    frames = []
    for _, htype, flags, xid, body, _ in FORBIDDEN:
        v = Version2(RoCE(capture))
        v.link.connect((PRIVATE, PRIVATE))
        v.open()
        frames.append(v.send(CLIENT, htype, xid, flags, body))
    capture.close()
    decoded = layers(path)
    for (name, *_, text), frame in zip(FORBIDDEN, frames):
        said = experts(decoded[frame - 1].get("rpcrdma2", {}))
        require(any(text in s for s in said), name, "is not noticed:", said)


def test_credits(folder):
    path = os.path.join(folder, "credits.pcap")
    capture = Capture(path)
    link = RoCE(capture, cm=True)
    link.connect((PRIVATE, PRIVATE))
    link.acknowledge = lambda side, psn: None

    def grant(side, credit, received):
        return link.send(side, words(0, 2, credit, NOMSG, 0, received, 0) + PLAIN)

    def props(side, credit, received):
        return link.send(side, words(0, 2, credit, CONNPROP, 0, received, 0))
    props(CLIENT, 4, 0)
    props(SERVER, 2, 1)
    good = [grant(CLIENT, 4, 1), grant(CLIENT, 4, 1), grant(CLIENT, 4, 1)]
    beyond = grant(CLIENT, 4, 1)
    lowered = grant(SERVER, 1, 1)
    counted = grant(SERVER, 2, 9)
    excessive = grant(SERVER, 70000, 5)
    capture.close()
    decoded = layers(path)

    def said(frame):
        return experts(decoded[frame - 1]["rpcrdma2"])
    for frame in good:
        require(not said(frame), "a message within the limit:", said(frame))
    require("its limit is" in str(said(beyond)), "a message beyond the limit:", said(beyond))
    require("The limit was" in str(said(lowered)), "a lower limit:", said(lowered))
    require("were sent" in str(said(counted)), "too many received:", said(counted))
    require("65535" in str(said(excessive)), "too many credits:", said(excessive))
    require(one(decoded[excessive - 1], "limit") == 65540, "the limit of too many credits")


def opaque(data):
    return words(len(data)) + data + bytes(-len(data) % 4)


def auth(kind, body):
    """Return the property HOSTAUTH with a message of the handshake."""
    return words(6) + opaque(words(1, kind) + body)


TPMORE = 4
OWN = words(1, 4, 4096, 2, 4, 4096)
HELLO = auth(1, words(0b1110, 0b101) + bytes(range(32)) + opaque(b"client.test"))
PUBLIC = bytes(range(2, 98)) * 4
CHALLENGE = auth(2, words(3, 2) + bytes(32) + opaque(b"server.test") + opaque(PUBLIC))
PROOF = auth(3, opaque(b"p" * 64) + words(0))
HANDSHAKE = [
    # sender, flags, properties, title
    (CLIENT, TPMORE, words(3) + OWN + HELLO, "RDMA2_CONNPROP HELLO of client.test"),
    (SERVER, TPMORE, words(3) + OWN + CHALLENGE, "RDMA2_CONNPROP CHALLENGE of server.test"),
    (CLIENT, TPMORE, words(1) + auth(3, opaque(b"p" * 64) + opaque(PUBLIC)),
     "RDMA2_CONNPROP PROOF"),
    (SERVER, 0, words(1) + PROOF, "RDMA2_CONNPROP PROOF"),
    (CLIENT, 0, words(0), "RDMA2_CONNPROP"),
]


def handshake(folder, name, messages):
    """Send the messages on a new connection; return the layers of each."""
    path = os.path.join(folder, name + ".pcap")
    capture = Capture(path)
    link = RoCE(capture, mtu=4096)
    link.connect()
    v = Version2(link)
    frames = [v.send(side, CONNPROP, 0, flags, body) for side, flags, body, _ in messages]
    capture.close()
    decoded = layers(path)
    return [decoded[frame - 1] for frame in frames]


def test_handshake(folder):
    """The messages of host authentication by name, with their fields"""
    trees = handshake(folder, "handshake", HANDSHAKE)
    for tree in trees:
        require(not experts(tree), *experts(tree))
    hello, challenge, proof = trees[0], trees[1], trees[3]
    for tree, name, wanted in (
            (hello, "type", "1"), (hello, "hashes", "0x0000000e"), (hello, "hashes.sha256", "True"),
            (hello, "hashes.sha384", "True"), (hello, "identity", "client.test"),
            (hello, "groups.none", "True"), (hello, "groups.ffdhe3072", "True"),
            (hello, "groups.ffdhe2048", "False"),
            (hello, "nonce", ":".join("%02x" % i for i in range(32))),
            (challenge, "type", "2"), (challenge, "hash", "3"), (challenge, "group", "2"),
            (challenge, "public", ":".join("%02x" % i for i in PUBLIC)),
            (challenge, "identity", "server.test"), (proof, "type", "3"),
            (proof, "proof", ":".join(["70"] * 64))):
        shown = find(tree, "rpcrdma2.auth." + name)
        require(shown and str(shown[0]) in (wanted, {"True": "1", "False": "0"}.get(wanted)), name, "is",
                shown, "and not", wanted)
    require(not find(trees[4], "rpcrdma2.auth.type"), "the last message has no item")


def test_handshake_titles(folder):
    handshake(folder, "handshake", HANDSHAKE)
    lines = tshark(os.path.join(folder, "handshake.pcap"), "-Y", "rpcrdma2.props", "-T", "fields",
                   "-e", "_ws.col.Info").splitlines()
    require(lines == [title for _, _, _, title in HANDSHAKE], "titles are", *lines)


def test_handshake_refused(folder):
    """A refusal has a reason. Items that are out of order, repeated or invalid are reported."""
    first = HANDSHAKE[0]
    failure = (SERVER, 0, words(1) + auth(4, words(1)), "")
    for name, messages, says in (
            ("failure", [first, failure], "identity or secret"),
            ("order", [first, (SERVER, 0, words(1) + PROOF, "")], "PROOF follows"),
            ("two", [(CLIENT, TPMORE, words(2) + HELLO + HELLO, "")], "second message"),
            ("type", [(CLIENT, TPMORE, words(1) + auth(5, b""), "")], "No valid message"),
            ("rest", [(CLIENT, TPMORE, words(1) + auth(1, words(2, 1) + bytes(32) + opaque(b"c")
                                                      + words(0)), "")], "No valid message"),
            ("short", [(CLIENT, TPMORE, words(1) + auth(3, words(64)), "")], "No valid message"),
            ("identity", [(CLIENT, TPMORE, words(1) + auth(1, words(2, 1) + bytes(32)
                                                          + opaque(b"a b")), "")],
             "No valid identity")):
        said = experts(handshake(folder, "refused-" + name, messages)[-1])
        require(any(says in text for text in said), name, "is shown as", *said)
    # An item of another mechanism is not an error, and is ignored.
    other = words(1, 6) + opaque(words(2, 7, 7))
    said = experts(handshake(folder, "mechanism", [(CLIENT, 0, other, "")])[0])
    require(not said, *said)


def test_heuristic(folder):
    """Messages of other protocols are not decoded as RPC-over-RDMA."""
    path = os.path.join(folder, "others.pcap")
    capture = Capture(path)
    for i in range(200):
        link = RoCE(capture)
        link.send(CLIENT, struct.pack("<IIII", i, 1 << 24 if i % 2 else 2, i, i) + data_of(100, i))
        link.send(CLIENT, words(i, 1 + i % 2, i, i % 7) + data_of(8 * i, i))
    capture.close()
    for i, tree in enumerate(layers(path)):
        require("rpcrdma2" not in tree, "frame", i + 1, "is taken for RPC-over-RDMA")


def opcodes(*which):
    return lambda side, opcode: opcode in which


NOT_CAPTURED = ("not captured", "was captured")


def tests(decode, folder):
    yield "fields", lambda: test_fields(decode, folder)
    for v in (Version2, Version1):
        n = "v%d-" % v.version
        yield n + "roce", lambda v=v, n=n: conveyed(folder, n + "roce", RoCE, v)
        yield n + "roce-large-mtu", lambda v=v, n=n: conveyed(folder, n + "mtu", RoCE, v, mtu=4096)
        yield n + "late", lambda v=v, n=n: conveyed(folder, n + "late", RoCE, v, cm=False)
        yield n + "infiniband", lambda v=v, n=n: conveyed(folder, n + "ib", Native, v)
        yield n + "roce1", lambda v=v, n=n: conveyed(folder, n + "roce1", RoCE1, v)
        yield n + "iwarp", lambda v=v, n=n: conveyed(folder, n + "iwarp", Iwarp, v)
        yield n + "iwarp-other-port", lambda v=v, n=n: conveyed(folder, n + "iwarp2", Iwarp, v,
                                                                port=20050)
        yield n + "snaplen", lambda v=v, n=n: conveyed(
            folder, n + "snaplen", RoCE, v, snaplen=600, allowed=NOT_CAPTURED, rpcs_too=False)
        yield n + "no-reads", lambda v=v, n=n: conveyed(
            folder, n + "no-reads", RoCE, v, lost=opcodes(14), allowed=NOT_CAPTURED,
            data_too=False)
        yield n + "no-writes", lambda v=v, n=n: conveyed(
            folder, n + "no-writes", RoCE, v, lost=opcodes(7), allowed=NOT_CAPTURED,
            data_too=False)
    yield "matches", lambda: test_matches(folder)
    yield "retransmitted", lambda: test_retransmitted(folder)
    yield "interleaved", lambda: test_interleaved(folder)
    yield "reverse", lambda: test_reverse(folder)
    yield "forbidden", lambda: test_forbidden(folder)
    yield "credits", lambda: test_credits(folder)
    yield "handshake", lambda: test_handshake(folder)
    yield "handshake-titles", lambda: test_handshake_titles(folder)
    yield "handshake-refused", lambda: test_handshake_refused(folder)
    yield "heuristic", lambda: test_heuristic(folder)


def main():
    decode, folder = sys.argv[1:3]
    only = sys.argv[3:]
    bad = 0
    for name, run in tests(decode, folder):
        if only and name not in only:
            continue
        try:
            run()
            print("ok", name, flush=True)
        except Failed as why:
            bad = 1
            print("not ok", name, "-", why, flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
