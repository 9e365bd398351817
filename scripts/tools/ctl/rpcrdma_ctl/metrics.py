# SPDX-License-Identifier: GPL-2.0
"""Metrics in the text format of node_exporter's textfile collector."""

import os
import tempfile

from .netlink import text


def escape(value):
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def labels(**values):
    return "{" + ",".join(f'{name}="{escape(value)}"' for name, value in values.items()) + "}"


def metric(prefix, number):
    """Return name and type: counters end with _total."""
    name = f"rpcrdma_{prefix}{number['name']}"
    if number["kind"] == "counter":
        return name if name.endswith("_total") else name + "_total", "counter"
    if number["unit"] == "bytes" and not name.endswith("_bytes"):
        return name + "_bytes", "gauge"
    return name, "gauge"


def lines(family):
    """Yield the lines of all metrics."""
    for counter in family.counters():
        name, kind = metric("", counter)
        yield f"# HELP {name} {counter['unit']}, since the module was loaded"
        yield f"# TYPE {name} {kind}"
        yield f"{name} {counter['value']}"
    connections = [connection for connection in family.connections()
                   if connection["state"] == "open"]
    known = [(connection, labels(role=connection["role"], local=text(connection["local"]),
                                 remote=text(connection["remote"])))
             for connection in connections]
    yield "# HELP rpcrdma_connection_version version of RPC-over-RDMA"
    yield "# TYPE rpcrdma_connection_version gauge"
    for connection, label in known:
        yield f"rpcrdma_connection_version{label} {connection['version']}"
    yield "# HELP rpcrdma_connection_fallback 1 if it is version 1 instead of 2"
    yield "# TYPE rpcrdma_connection_fallback gauge"
    for connection, label in known:
        yield f"rpcrdma_connection_fallback{label} {int(connection['fallback'])}"
    for number in family.numbers():
        name, kind = metric("connection_", number)
        yield f"# HELP {name} {number['unit']}"
        yield f"# TYPE {name} {kind}"
        for connection, label in known:
            if number["name"] in connection["numbers"]:
                yield f"{name}{label} {connection['numbers'][number['name']]}"


def write(family, path):
    """Replace the file atomically, because the collector must not read half of it."""
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".rpcrdma")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines(family))
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
