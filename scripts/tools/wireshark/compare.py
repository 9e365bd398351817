#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Decode a capture of a connection with the dissector, and compare it with its counters.

    compare.py CAPTURE CONNECTIONS

CAPTURE is a capture of the complete connection. CONNECTIONS is a copy of
/sys/kernel/debug/rpcrdma/connections from the end of the capture, with one connection of the
client. Prints the differences, and fails if there are any."""

import collections
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = """frame.number rpcrdma2.version rpcrdma2.xid rpcrdma2.proc rpcrdma2.grant
rpcrdma2.call rpcrdma2.error rpcrdma2.format rpcrdma2.position rpcrdma2.write_list rpcrdma2.reply_chunk
rpcrdma2.invalidated rpcrdma2.call_in rpcrdma2.flags.more rpcrdma2.data.missing
rpcrdma2.malformed rpcrdma2.forbidden rpcrdma2.credits rpcrdma2.unmatched
rpcrdma2.incomplete _ws.malformed _ws.expert.message rpc.xid rpc.msgtyp rpc.repframe
ip.src""".split()
# Notes of the NFS dissector are ignored, because they don't concern the transport.
RULES = ("malformed", "forbidden", "credits", "unmatched", "incomplete")
MSG, NOMSG, DONE, ERROR = 0, 1, 3, 4


class Frame(dict):
    """The fields of a frame; each is a list of strings."""

    def one(self, name, default=None):
        values = self["rpcrdma2." + name]
        return int(values[0], 0) if values else default


def decode(path):
    command = ["tshark", "-r", path, "-X", "lua_script:" + os.path.join(HERE, "rpcrdma2.lua"),
               "-Y", "rpcrdma2", "-T", "fields", "-E", "separator=/t", "-E", "aggregator=;",
               "-E", "occurrence=a"]
    for name in FIELDS:
        command += ["-e", name]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        columns = line.split("\t")
        yield Frame((name, column.split(";") if column else [])
                    for name, column in zip(FIELDS, columns))


def connections(path):
    with open(path, encoding="ascii") as file:
        return [dict(pair.split("=", 1) for pair in line.split()) for line in file]


def host(address):
    return address.rsplit(":", 1)[0].strip("[]")


def chunks_of(positions):
    """Return the Read chunks. Consecutive segments of one Position are one chunk."""
    return sum(1 for i, p in enumerate(positions) if i == 0 or p != positions[i - 1])


def count(frames, client):
    """Return the counters of the client's end, computed from the capture."""
    counted = collections.Counter()
    for f in frames:
        if not f["rpcrdma2.xid"]:       # a packet without a message's header
            continue
        mine = f["ip.src"][0] == client
        counted["sent" if mine else "received"] += 1
        proc = f.one("proc")
        if f["rpcrdma2.invalidated"]:
            counted["remote_inv"] += not mine
        # ERR_VERS negotiates the version, and is not counted as an error.
        if proc == ERROR and f["rpcrdma2.error"] != ["1"]:
            counted["errors_sent" if mine else "errors_received"] += 1
        if proc == DONE and f.one("version") == 2:
            counted["dones_sent" if mine else "dones_received"] += 1
        if not f["rpcrdma2.call"]:
            continue
        form = f["rpcrdma2.format"][0]
        call = f.one("call")
        counted["%s_%s" % ("calls" if call else "replies",
                           "special" if form == "pulled" else form)] += 1
        counted["read_chunks"] += chunks_of(f["rpcrdma2.position"])
        if call:
            counted["write_chunks"] += f.one("write_list", 0)
            counted["reply_chunks"] += f.one("reply_chunk", 0)
        elif form == "pulled":
            counted["replies_to_pull" if not mine else "replies_exposed"] += 1
    return counted


COMPARED = """sent received calls_inline calls_continued calls_special replies_inline
replies_continued replies_special read_chunks write_chunks reply_chunks remote_inv
errors_sent errors_received dones_sent dones_received replies_to_pull replies_exposed""".split()


def broken(frames):
    """Return the faults of frames: malformed, forbidden, or not captured."""
    for f in frames:
        number = f["frame.number"][0]
        if f["_ws.malformed"]:
            yield "frame %s is malformed" % number
        if f["rpcrdma2.data.missing"]:
            yield "frame %s lacks data" % number
        for rule in RULES:
            if f["rpcrdma2." + rule]:
                yield "frame %s, %s: %s" % (number, rule, ", ".join(f["_ws.expert.message"]))


def unmatched(frames):
    """Yield the faults of Calls and Replies, as the RPC dissector decodes them."""
    calls = {(xid, f["ip.src"][0]) for f in frames
             for xid, kind in zip(f["rpc.xid"], f["rpc.msgtyp"]) if kind == "0"}
    replies = sum(f["rpc.msgtyp"].count("1") for f in frames)
    matched = sum(1 for f in frames if f["rpc.repframe"])
    if replies != matched:
        yield "%d of %d Replies have a Call" % (matched, replies)
    if len(calls) != replies:
        yield "there are %d Calls and %d Replies" % (len(calls), replies)


def main():
    capture, counters = sys.argv[1:3]
    frames = list(decode(capture))
    mine = [line for line in connections(counters) if line["role"] == "client"]
    if len(mine) != 1:
        sys.exit("the client has %d connections" % len(mine))
    mine = mine[0]
    wrong = list(broken(frames)) + list(unmatched(frames))
    counted = count(frames, host(mine["local"]))
    for name in COMPARED:
        if counted[name] != int(mine[name]):
            wrong.append("%s: %d were captured, and the client counted %s" %
                         (name, counted[name], mine[name]))
    print("version %s, %d frames, %s" % (mine["version"], len(frames), " ".join(
        "%s=%d" % (name, counted[name]) for name in COMPARED if counted[name])))
    for text in wrong[:20]:
        print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
