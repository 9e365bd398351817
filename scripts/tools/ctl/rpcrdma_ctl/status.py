# SPDX-License-Identifier: GPL-2.0
"""The state of the host, as a dictionary and as text."""

from . import netlink
from .netlink import text


def status(system):
    result = {"module": system.module(), "devices": system.devices(),
              "mounts": system.mounts(), "nfsd": system.nfsd(),
              "listeners": [], "connections": []}
    try:
        family = system.netlink()
        result["listeners"] = family.listeners()
        result["connections"] = family.connections()
        result["netlink"] = True
    except (netlink.Unavailable, OSError):
        result["netlink"] = False
    for mount in result["mounts"]:
        mount["connections"] = [number for number, connection
                                in enumerate(result["connections"])
                                if of_mount(connection, mount)]
    return result


def uses_rdma(mount):
    return any(transport["protocol"] == "rdma" for transport in mount["transports"])


def of_mount(connection, mount):
    """Return true if the connection is to the server of the mount."""
    port = mount["options"].get("port") or "20049"
    return connection["role"] == "client" and connection["remote"] and \
        uses_rdma(mount) and \
        connection["remote"] == {"address": mount["options"].get("addr"),
                                 "port": int(port) or 20049}


def authentication(connection):
    """Return the state of host authentication in a few words."""
    if connection["auth"] == "authenticated":
        by = connection["auth-hash"]
        if connection.get("auth-dh", "none") != "none":
            by += f", {connection['auth-dh']}"
        return f"authenticated as {connection['identity']} ({by})"
    if connection["auth"] == "unused":
        return "not authenticated: the peer takes no part"
    return f"authentication {connection['auth']}"


def describe(connection):
    """Return version, reason and state of a connection in a few words."""
    words = f"version {connection['version'] or '?'} ({connection['why']})"
    if connection["fallback"]:
        words += ", a fallback"
    if connection.get("auth", "none") != "none":
        words += f", {authentication(connection)}"
    if connection["state"] != "open":
        words += f", {connection['state']}"
    if connection.get("reason"):
        words += f": {connection['reason']}"
    return words


def show_module(module, out):
    loaded, installed = module["loaded"], module["installed"]
    if loaded:
        out.write(f"Module      loaded: {loaded['version'] or 'the in-tree one'}"
                  f" ({loaded['srcversion']}), {loaded['users']} users\n")
    else:
        out.write("Module      not loaded\n")
    if installed:
        out.write(f"            installed: {installed['version'] or 'the in-tree one'}"
                  f" ({installed['srcversion']}), {installed['file']}, "
                  + (f"signed by {installed['signer']}" if installed["signer"]
                     else "not signed") + "\n")
    else:
        out.write(f"            none is installed for {module['kernel']}\n")


def show_devices(devices, out):
    for device in devices:
        for port in device["ports"]:
            types = sorted({gid["type"] for gid in port["gids"]})
            netdevs = ", ".join(f"{netdev['name']} (MTU {netdev['mtu']})"
                                for netdev in port["netdevs"])
            out.write(f"Device      {device['name']}/{port['port']} {device['type']}, "
                      f"{port['link_layer']}, {port['state']}, {port['rate']}"
                      + (f", {netdevs}" if netdevs else "")
                      + (f", {', '.join(types)}" if types else "") + "\n")
    if not devices:
        out.write("Device      none\n")


def show(result, out):
    show_module(result["module"], out)
    show_devices(result["devices"], out)
    for listener in result["listeners"]:
        out.write(f"Listener    {text(listener['local'])}"
                  + ("" if listener["listening"] else ", waiting for its device or address")
                  + "\n")
    for mount in result["mounts"]:
        version = mount["options"].get("vers", "?")
        protocols = [transport["protocol"] for transport in mount["transports"]]
        out.write(f"Mount       {mount['mountpoint']} of {mount['device']}, NFS {version}, "
                  + (", ".join(protocols) or "no transport")
                  + (", connection " + ", ".join(str(number) for number
                                                 in mount["connections"])
                     if mount["connections"] else "") + "\n")
    for number, connection in enumerate(result["connections"]):
        numbers = connection["numbers"]
        out.write(f"Connection  {number}: {connection['role']} {text(connection['local'])} - "
                  f"{text(connection['remote'])}, {describe(connection)}\n"
                  f"            messages of {numbers['send_inline']} and "
                  f"{numbers['recv_inline']} bytes, {numbers['sent']} sent, "
                  f"{numbers['received']} received, {numbers['outstanding']} RPCs "
                  "outstanding\n")
    if not result["netlink"] and result["module"]["loaded"]:
        out.write("The loaded module does not show its connections.\n")
