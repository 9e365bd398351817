# SPDX-License-Identifier: GPL-2.0
"""Findings, each with a remedy. Documentation/rpcrdma-ctl.rst lists them."""

import os
import re

from . import netlink, secrets
from .netlink import text
from .status import uses_rdma

ERROR, WARNING, NOTE = "error", "warning", "note"

SMALL_WINDOW = 8        # Calls that may be outstanding
USED = 100              # Calls after which a window should have grown
SMALL_THRESHOLD = 4096  # bytes, of a connection made while memory is tight


class Report:
    """The findings so far."""

    def __init__(self):
        self.findings = []
        # Findings about connections: the finding, the name of the first connection with it,
        # and the number of connections with it
        self.same = {}

    def add(self, name, severity, what, remedy):
        finding = {"name": name, "severity": severity, "what": what, "remedy": remedy}
        self.findings.append(finding)
        return finding

    def add_of(self, connection, name, severity, what, remedy):
        """Add a finding about a connection. Equal findings of several connections become
        one, because a server may have thousands of connections."""
        key = name, connection["role"], what
        finding, peer, count = self.same.get(key, (None, peer_of(connection), 0))
        if not finding:
            finding = self.add(name, severity, f"the {peer}: {what}", remedy)
        else:
            finding["what"] = f"the {peer} and {plural(count, 'other')}: {what}"
        self.same[key] = finding, peer, count + 1


def plural(count, noun):
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def peer_of(connection):
    return f"{connection['role']} connection with {text(connection['remote'])}"


# ---- The module ----

def ours(module):
    """Return true if the module is this project's: the in-tree module has no version."""
    return bool(module and module["version"])


def check_module(system, report):
    module = system.module()
    loaded, installed = module["loaded"], module["installed"]
    sources = system.list("/usr/src/rpcrdma-v2-*")
    kernel = module["kernel"]
    if not ours(installed) and sources and not system.exists(f"/lib/modules/{kernel}/build"):
        report.add("missing-headers", ERROR,
                   f"DKMS has the sources, but kernel {kernel} has no headers to build for",
                   f"apt install linux-headers-{kernel}, then: dkms autoinstall -k {kernel}")
    elif not installed:
        report.add("not-installed", ERROR, f"no module is installed for kernel {kernel}",
                   "install rpcrdma-v2-dkms, or make install")
    elif not ours(installed):
        report.add("in-tree-installed", WARNING,
                   f"the module for kernel {kernel} is the in-tree one, {installed['file']}",
                   "install rpcrdma-v2-dkms, or make install")
    if len([name for name in module["files"] if "/updates/" in name]) > 1:
        report.add("shadowed", ERROR,
                   f"several modules are installed: {', '.join(module['files'])}; "
                   f"modprobe loads {installed['file'] if installed else 'one of them'}",
                   "make uninstall removes the module that make install has put under "
                   "updates/; then: depmod -a")
    if not loaded:
        report.add("not-loaded", NOTE, "no rpcrdma module is loaded",
                   "modprobe rpcrdma; a mount and nfsd's portlist load it, too")
    elif ours(installed) and not ours(loaded):
        report.add("in-tree-loaded", ERROR,
                   "the in-tree module is loaded, and another one is installed",
                   "rpcrdma-ctl reload")
    elif ours(installed) and loaded["srcversion"] != installed["srcversion"]:
        report.add("stale", WARNING,
                   f"version {loaded['version']} ({loaded['srcversion']}) is loaded, but "
                   f"version {installed['version']} ({installed['srcversion']}) is installed",
                   "rpcrdma-ctl reload")
    if loaded and not ours(loaded):
        return
    if loaded and not have_netlink(system):
        report.add("no-interface", WARNING,
                   "the loaded module has no netlink family: it is older than this program",
                   "install the module of the same version, then: rpcrdma-ctl reload")


def have_netlink(system):
    try:
        system.netlink()
    except (netlink.Unavailable, OSError):
        return False
    return True


def check_stack(system, report):
    path = system.modinfo("ib_core").get("filename", "")
    if system.exists("/sys/module/mlx_compat") or "/updates/" in path or "/extra/" in path:
        report.add("foreign-stack", ERROR,
                   "the RDMA stack is not the in-tree one"
                   + (f": ib_core is {path}" if path else " (mlx_compat is loaded)"),
                   "the module is built for the in-tree RDMA stack: remove the other stack "
                   "(for MLNX_OFED: ofed_uninstall.sh), or build the module against its "
                   "headers")


# ---- Devices ----

def check_devices(system, report):
    devices = system.devices()
    if not devices:
        report.add("no-device", ERROR, "there is no RDMA device",
                   "load the device's driver; without hardware: rdma link add rxe0 type rxe "
                   "netdev eth0")
    for device in devices:
        for port in device["ports"]:
            check_port(device, port, report)


def check_port(device, port, report):
    name = f"{device['name']}/{port['port']}"
    if port["state"] != "ACTIVE":
        downs = [netdev["name"] for netdev in port["netdevs"]
                 if netdev["operstate"] not in ("up", "unknown")]
        report.add("port-down", ERROR, f"port {name} is {port['state'] or 'in no state'}"
                   + (f", and {', '.join(downs)} is down" if downs else ""),
                   f"ip link set {downs[0]} up" if downs else
                   "check the cable, and on InfiniBand the subnet manager")
    # iWARP devices have no RoCE GIDs.
    roce = port["link_layer"] == "Ethernet" and device["type"] == "CA"
    if roce and not any(gid["type"] == "RoCE v2" for gid in port["gids"]):
        report.add("no-rocev2-gid", ERROR, f"port {name} has no RoCE version 2 GID",
                   "give its network interface an IP address; if it has one, the device "
                   "supports RoCE version 1 only")
    mtus = {netdev["mtu"] for netdev in port["netdevs"]}
    if roce and len(mtus) > 1:
        report.add("mtu-interfaces", WARNING,
                   f"the interfaces of port {name} have different MTUs: "
                   + ", ".join(f"{netdev['name']} {netdev['mtu']}"
                               for netdev in port["netdevs"]),
                   "set the same MTU on all of them: ip link set DEVICE mtu N")


def check_paths(system, report, connections):
    """Ping each server with packets of the interface's MTU that routers must not fragment."""
    done = set()
    for mount in system.mounts():
        host = mount["options"].get("addr")
        if not uses_rdma(mount) or not host or host in done:
            continue
        done.add(host)
        local = [connection["local"]["address"] for connection in connections
                 if connection["role"] == "client" and connection["remote"] and
                 connection["local"] and connection["remote"]["address"] == host]
        mtu = system.mtu_towards(host, local[0] if local else None)
        answers = system.ping(host, 56) if mtu else None
        if mtu is None or (mtu and answers is None):
            report.add("mtu-unchecked", NOTE,
                       f"the MTU of the path to {host} was not checked: "
                       f"{'ip' if mtu is None else 'ping'} cannot be run",
                       "install iproute2 and iputils-ping")
        if not answers:
            continue
        if system.ping(host, mtu - (48 if ":" in host else 28)) is False:
            report.add("mtu-mismatch", ERROR,
                       f"packets of {mtu} bytes, the MTU towards {host}, are lost on the path",
                       "set the same MTU on both hosts and on the switches between them: RoCE "
                       "retransmits the lost packets until the connection fails")


# ---- The server ----

def check_server(system, report, listeners):
    nfsd = system.nfsd()
    if not nfsd["threads"]:
        return
    if not nfsd["rdma_ports"]:
        report.add("listener-missing", WARNING,
                   "nfsd runs, but does not listen for RDMA",
                   "echo rdma 20049 > /proc/fs/nfsd/portlist, and set rdma=y in the "
                   "section [nfsd] of /etc/nfs.conf")
    elif not nfsd["configured"]:
        report.add("listener-not-persistent", WARNING,
                   "nfsd listens for RDMA, but will not after its next start",
                   "set rdma=y and rdma-port=20049 in the section [nfsd] of /etc/nfs.conf")
    for listener in listeners:
        if not listener["listening"]:
            report.add("listener-lost", ERROR,
                       f"the listener at {text(listener['local'])} has lost its device or "
                       "its address",
                       "restore the device or the address: the module listens again "
                       "within ten seconds")


# ---- Connections ----

WHY = {
    "silence": "the server does not answer version 2, or ended such a connection",
    "refused": "the server has no version 2",
}


def check_connections(report, connections):
    for connection in connections:
        numbers = connection["numbers"]
        if connection["fallback"]:
            report.add("fallback", WARNING,
                       f"the {peer_of(connection)} uses version 1: "
                       f"{WHY.get(connection['why'], '')}",
                       "update the server; to try version 2 again at once: sysctl "
                       "sunrpc.rdma_min_version=2, mount, and set it back to 1")
        if numbers.get("dones_overdue"):
            report.add_of(connection, "never-pulled", WARNING,
                          counted(numbers["dones_overdue"], "Replies were not pulled in time"),
                          "look for a client that hangs; if it is only slow, raise "
                          "sunrpc.svc_rdma.done_timeout")
        sent, received = numbers.get("errors_sent", 0), numbers.get("errors_received", 0)
        if sent or received:
            report.add_of(connection, "errors", WARNING,
                          f"{plural(sent, 'error')} sent, {received} received",
                          "the log names the refused messages (dmesg | grep rpcrdma); "
                          "rpcrdma-ctl trace --preset errors shows them")
        if connection["state"] == "open":
            check_window(report, connection)


def check_window(report, connection):
    numbers = connection["numbers"]
    calls = sum(numbers.get(f"calls_{form}", 0) for form in ("inline", "continued", "special"))
    if connection["version"] == 2 and connection["role"] == "client":
        # Modulo 2^32
        window = (numbers["limit"] - numbers["sent"]) % (1 << 32) + numbers["outstanding"]
        if calls > USED and window <= SMALL_WINDOW:
            report.add_of(connection, "small-window", WARNING,
                          f"the server permits no more than {window} Calls at a time",
                          "raise sunrpc.svc_rdma.max_requests or sunrpc.svc_rdma.max_memory "
                          "of the server")
    if connection["version"] == 2 and \
       min(numbers["send_inline"], numbers["recv_inline"]) <= SMALL_THRESHOLD:
        report.add_of(connection, "small-threshold", NOTE,
                      "messages of at most "
                      f"{min(numbers['send_inline'], numbers['recv_inline'])} bytes",
                      "one end is short of memory (sunrpc.svc_rdma.max_memory), or a "
                      "setting limits the size (rdma_max_inline_read, rdma_max_inline_write, "
                      "svc_rdma.max_req_size)")


def check_mounts(system, report):
    wanted = system.fstab()
    for mount in system.mounts():
        protocols = {transport["protocol"] for transport in mount["transports"]}
        if mount["mountpoint"] in wanted and protocols and "rdma" not in protocols:
            report.add("not-rdma", WARNING,
                       f"{mount['mountpoint']} should be mounted with RDMA, but uses "
                       f"{', '.join(sorted(protocols))}",
                       "the mount shares the transport of an earlier mount of the same "
                       "server: unmount all mounts of that server and mount this one "
                       "first, or add nosharetransport")


# ---- Host authentication ----

REQUIRED = "2"          # value of host_auth and svc_host_auth


def check_auth(system, report):
    found = system.secrets()
    if found is None:
        return
    kind = system.key_type()
    usable = [secret["identity"] for secret in found
              if secret["here"] and secret["length"] >= secrets.SHORTEST]
    for secret in found:
        check_secret(report, secret)
    own = system.identity()
    # The key with the identity of a network namespace cannot be read.
    has_own = own in usable if own else usable
    if system.parameter("host_auth") == REQUIRED and not has_own:
        report.add("auth-no-secret", ERROR,
                   "servers must authenticate (host_auth=2), and this host has no secret" +
                   (f" as {own}" if own else " of this network namespace"),
                   f"keyctl padd {kind} rpcrdma:{own or 'IDENTITY'} @u, as root; "
                   "set host_identity if the secret has another name")
    if system.parameter("svc_host_auth") == REQUIRED and system.nfsd()["rdma_ports"] and \
       not usable:
        report.add("auth-no-secret", ERROR,
                   "clients must authenticate (svc_host_auth=2), and there is no secret of "
                   "any client",
                   f"keyctl padd {kind} rpcrdma:CLIENT @u, as root, for each client")


def check_secret(report, secret):
    name, of = secret["identity"], ""
    if secret["type"] == "rpcrdma":
        of = ", a key of a network namespace,"
    if not secret["length"]:
        report.add("auth-revoked", WARNING,
                   f"the secret of {name}{of} is revoked or has expired",
                   "add a new one at both hosts, or remove the key with keyctl unlink")
    elif secret["length"] < secrets.SHORTEST:
        report.add("auth-short-secret", ERROR,
                   f"the secret of {name}{of} has {secret['length']} bytes, and is not used",
                   f"keyctl padd {secret['type']} rpcrdma:{name} @u" +
                   (", from within that namespace," if of else ",") +
                   f" with at least {secrets.SHORTEST} random bytes, at both hosts")


# ---- Counters ----

COUNTED = {
    "connects_failed": (NOTE, "attempts to connect have failed",
                        "see the other findings and the log"),
    "unresolved": (WARNING, "times a server's address had no RDMA device or route",
                   "check the address and the routes: ip route get ADDRESS; the outgoing "
                   "interface must have an RDMA device"),
    "unreachable": (WARNING, "times a server did not answer a connect request",
                    "check that UDP port 4791 (RoCE) passes the firewalls, and "
                    "rpcrdma-ping HOST"),
    "rejects_no_listener": (WARNING, "times a server did not listen at the port",
                            "check rdma-port in /etc/nfs.conf of the server, 20049 by default"),
    "rejects_by_peer": (WARNING, "times a server rejected a connection",
                        "see the log of the server for the reason"),
    "rejects_other": (WARNING, "connections were rejected for another reason",
                      "see the log of the server"),
    "openings_overdue": (WARNING, "clients connected and did not finish opening",
                         "look for clients that hang, or for an attack"),
    "accepts_failed": (ERROR, "connect requests failed for lack of resources of the device",
                       "use fewer connections, or lower svc_max_requests"),
    "refused_too_many": (WARNING, "clients were rejected because too many were opening",
                         "run more nfsd threads"),
    "refused_no_memory": (ERROR, "clients were rejected for lack of memory",
                          "raise sunrpc.svc_rdma.max_memory"),
    "pulls_overdue": (WARNING, "Replies were not pulled in time, on open and on closed "
                      "connections", "look for a client that hangs; if it is only slow, raise "
                      "sunrpc.svc_rdma.done_timeout"),
    "mr_shortages": (WARNING, "times the device had too few memory regions",
                     "use fewer connections (nconnect), or a device with more MRs"),
    "map_failures": (WARNING, "times memory could not be mapped for the device",
                     "add memory, or enlarge the IOMMU's address space or swiotlb"),
    "posts_refused": (ERROR, "times the device refused Work Requests",
                      "see the log of the device's driver"),
    "wr_failures": (WARNING, "connections were lost to a failed Work Request",
                    "see the log for the status: an exceeded retry counter points to the "
                    "network, a local error to this device, a remote error to the peer"),
    "drains_failed": (ERROR, "times the device did not stop a queue pair",
                      "see the log of the device's driver"),
    "auths_failed": (NOTE, "connections have failed in host authentication",
                     "see the other findings, and the log for the peers"),
    "auths_refused": (WARNING, "times a server refused this host's identity or secret",
                      "give both hosts the same secret for this host's identity "
                      "(host_identity)"),
    "auths_wrong_proof": (WARNING, "times a peer did not prove that it knows the secret",
                          "give both hosts the same secret; if they have it, the peer "
                          "uses an identity that is not its own"),
    "auths_unknown": (WARNING, "times a client claimed an identity that has no secret here",
                      "keyctl padd logon rpcrdma:CLIENT @u, as root; see the log for "
                      "the identity"),
    "auths_wrong_identity": (WARNING, "times a peer had another identity than expected",
                             "see the log for both identities"),
    "auths_not_offered": (WARNING, "times a peer took no part in the authentication that is "
                          "required here",
                          "give that host a secret, or permit connections without "
                          "authentication: host_auth=1, svc_host_auth=1"),
    "auths_peer_requires": (WARNING, "times a server required authentication, and this host "
                            "took no part",
                            "give both hosts a secret for this host, and set host_auth=1 or 2"),
    "auths_version_1": (WARNING, "times a peer with version 1 only was refused, because "
                        "authentication is required here",
                        "update that host, or permit connections without "
                        "authentication: host_auth=1, svc_host_auth=1"),
    "auths_no_secret": (ERROR, "attempts to connect without the secret that host_auth=2 "
                        "requires", "keyctl padd logon rpcrdma:IDENTITY @u, as root"),
    "auths_no_hash": (WARNING, "times both ends had no hash function or Diffie-Hellman group "
                      "in common", "modprobe sha512, hmac and dh at both hosts; if one of them "
                      "has no dh, set auth_dh=1"),
    "auths_malformed": (WARNING, "times a message of the authentication was not valid",
                        "look for a peer with a defect, or for an attack"),
    "auths_unavailable": (WARNING, "times authentication was not available",
                          "modprobe sha512 and hmac, or add memory"),
}


def counted(count, what):
    """Return the count with a text of COUNTED, which begins with a plural."""
    if count == 1:
        what = re.sub(r"ies\b|s\b", lambda end: "y" if end[0] == "ies" else "", what, count=1)
        what = what.replace(" were ", " was ", 1).replace(" have ", " has ", 1)
    return f"{count} {what}"


def check_counters(report, counters):
    for counter in counters:
        if counter["name"] in COUNTED and counter.get("value"):
            severity, what, remedy = COUNTED[counter["name"]]
            report.add(counter["name"].replace("_", "-"), severity,
                       counted(counter["value"], what), remedy)


def findings(system):
    """Return all findings, the worst first."""
    report = Report()
    connections, listeners, counters = [], [], []
    # Dump connections first, because a failing one may close while the rest is checked.
    try:
        family = system.netlink()
        connections, listeners = family.connections(), family.listeners()
        counters = family.counters()
    except (netlink.Unavailable, OSError):
        pass
    check_module(system, report)
    check_stack(system, report)
    check_devices(system, report)
    check_server(system, report, listeners)
    check_mounts(system, report)
    check_connections(report, connections)
    check_paths(system, report, connections)
    check_auth(system, report)
    check_counters(report, counters)
    order = [ERROR, WARNING, NOTE]
    return sorted(report.findings, key=lambda finding: order.index(finding["severity"]))


def show(result, out):
    for finding in result:
        out.write(f"{finding['severity']}: {finding['what']} [{finding['name']}]\n"
                  f"    {finding['remedy']}\n")
    if not result:
        out.write("nothing found\n")


def status(result):
    """Return the exit status: 2 after errors, 1 after warnings."""
    severities = {finding["severity"] for finding in result}
    return 2 if ERROR in severities else 1 if WARNING in severities else os.EX_OK
