# SPDX-License-Identifier: GPL-2.0
"""Rates of each connection and of each mount."""

import time

from .netlink import text
from .status import of_mount, uses_rdma

CALLS = ("calls_inline", "calls_continued", "calls_special")
CHUNKS = ("read_chunks", "write_chunks", "reply_chunks")


def key(connection):
    """Return a unique key of a connection. Older modules report no id."""
    return connection.get("id") or (connection["role"], text(connection["local"]),
                                    text(connection["remote"]))


def total(numbers, names):
    return sum(numbers.get(name, 0) for name in names)


def rates(before, after, seconds):
    """Return the rates of the connections between two dumps."""
    old = {key(connection): connection["numbers"] for connection in before}
    result = []
    for connection in after:
        numbers = connection["numbers"]
        was = old.get(key(connection), {})

        def rate(*names, numbers=numbers, was=was):
            # The counters of a new connection begin at 0.
            return max(total(numbers, names) - total(was, names), 0) / seconds

        credit = (numbers["limit"] - numbers["sent"]) % (1 << 32)
        result.append({
            "role": connection["role"], "local": text(connection["local"]),
            "remote": text(connection["remote"]), "version": connection["version"],
            "outstanding": numbers["outstanding"], "credits": credit,
            "calls": rate(*CALLS), "chunks": rate(*CHUNKS),
            "sent": rate("bytes_sent"), "received": rate("bytes_received"),
            "remote_inv": rate("remote_inv"), "local_inv": rate("local_inv"),
            "held": total(numbers, [name for name in numbers if name.startswith("memory_")]),
            "rtt_ms": None,
        })
    return result


def mount_rates(before, after, seconds):
    """Return bytes per second and the mean round trip of each mount that uses RDMA."""
    old = {mount["mountpoint"]: mount for mount in before}
    result = []
    for mount in after:
        if not uses_rdma(mount):
            continue
        was = old.get(mount["mountpoint"], {"operations": {}})
        row = {"mountpoint": mount["mountpoint"]}
        for way in ("read", "written"):
            row[way] = (mount.get("bytes", {}).get(way, 0)
                        - was.get("bytes", {}).get(way, 0)) / seconds

        def grown(name, mount=mount, was=was):
            return sum(operation[name] for operation in mount["operations"].values()) - \
                sum(operation[name] for operation in was["operations"].values())

        count = grown("count")
        row["operations"] = count / seconds
        row["rtt_ms"] = grown("rtt_ms") / count if count else None
        result.append(row)
    return result


def sample(system):
    return time.monotonic(), system.netlink().connections(), system.mounts()


def round_trips(connections, dump, rows, mounts):
    """
    Set the round-trip time of each client connection to the mean over the mounts of its
    server, because sunrpc measures it for each mount.
    """
    for row, connection in zip(connections, dump):
        known = [(mount["operations"], mount["rtt_ms"])
                 for mount, origin in zip(rows, mounts)
                 if mount["rtt_ms"] is not None and of_mount(connection, origin)]
        count = sum(operations for operations, _ in known)
        if count:
            row["rtt_ms"] = sum(operations * rtt for operations, rtt in known) / count


def compare(old, new):
    seconds = max(new[0] - old[0], 1e-3)
    connections = rates(old[1], new[1], seconds)
    mounts = mount_rates(old[2], new[2], seconds)
    round_trips(connections, new[1], mounts, [mount for mount in new[2] if uses_rdma(mount)])
    return {"seconds": seconds, "connections": connections, "mounts": mounts}


def in_ms(rtt):
    return "-" if rtt is None else f"{rtt:.2f}"


def show(result, out):
    out.write(f"{'CONNECTION':42} {'V':>1} {'LIVE':>5} {'CREDIT':>6} {'CALLS/s':>8} "
              f"{'SENT/s':>10} {'RECEIVED/s':>10} {'CHUNKS/s':>8} {'INV/s':>7} {'LINV/s':>7} "
              f"{'RTT ms':>7} {'HELD':>9}\n")
    for row in sorted(result["connections"], key=lambda row: -row["calls"]):
        name = f"{row['role'][0]} {row['local']} {row['remote']}"
        out.write(f"{name:42} {row['version']:>1} {row['outstanding']:>5} "
                  f"{row['credits']:>6} {row['calls']:>8.0f} {row['sent'] / 1024:>6.0f} KiB "
                  f"{row['received'] / 1024:>6.0f} KiB {row['chunks']:>8.0f} "
                  f"{row['remote_inv']:>7.0f} {row['local_inv']:>7.0f} "
                  f"{in_ms(row['rtt_ms']):>7} {row['held'] >> 10:>5} KiB\n")
    if result["mounts"]:
        out.write(f"\n{'MOUNT':42} {'READ/s':>12} {'WRITTEN/s':>12} {'OPS/s':>8} "
                  f"{'RTT ms':>7}\n")
    for row in result["mounts"]:
        out.write(f"{row['mountpoint']:42} {row['read'] / 1024:>8.0f} KiB "
                  f"{row['written'] / 1024:>8.0f} KiB {row['operations']:>8.0f} "
                  f"{in_ms(row['rtt_ms']):>7}\n")
