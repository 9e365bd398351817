# SPDX-License-Identifier: GPL-2.0
"""Replace the loaded module without a reboot."""

import time

from .status import uses_rdma

NFSD = "/proc/fs/nfsd"


def blockers(system):
    """Return the users of the module that reload() does not end, each with a remedy."""
    found = []
    for mount in system.mounts():
        if uses_rdma(mount):
            found.append((f"{mount['mountpoint']} is mounted",
                          f"umount {mount['mountpoint']}"))
    for name in system.list("/sys/module/rpcrdma/holders/*"):
        name = name.rpartition("/")[2]
        found.append((f"module {name} uses it", f"modprobe -r {name}"))
    return found


def write(system, name, text):
    with open(system.path(name), "w", encoding="ascii") as file:
        file.write(text)


class Server:
    """nfsd, which must be stopped because its listeners end only with it."""

    def __init__(self, system):
        self.system = system
        self.threads = system.nfsd()["threads"]
        self.rdma_ports = system.nfsd()["rdma_ports"]
        self.ports = []
        for line in (system.read(f"{NFSD}/portlist") or "").splitlines():
            if line not in self.ports:
                self.ports.append(line)
        self.unit = bool(self.threads) and \
            not system.run("systemctl", "is-active", "--quiet", "nfs-server")[0]

    def stop(self):
        if self.unit:
            self.systemctl("stop")
        elif self.threads:
            write(self.system, f"{NFSD}/threads", "0\n")

    def start(self):
        """
        Start nfsd with the listeners that it had before. Return an error text for each listener
        that it does not get, for instance because there is no module: the others, and the
        threads, serve nevertheless.
        """
        failed = []
        if self.unit:
            self.systemctl("start")
            have = self.system.nfsd()["rdma_ports"]
            ports = [f"rdma {port}" for port in self.rdma_ports if port not in have]
        else:
            ports = self.ports
        for port in ports:
            try:
                write(self.system, f"{NFSD}/portlist", port + "\n")
            except OSError as error:
                failed.append(f"nfsd does not listen at {port}: {error.strerror}")
        if not self.unit:
            write(self.system, f"{NFSD}/threads", f"{self.threads}\n")
        return failed

    def systemctl(self, verb):
        status, output = self.system.run("systemctl", verb, "nfs-server")
        if status:
            raise OSError(status, output.strip(), f"systemctl {verb} nfs-server")


def unused(system, seconds):
    """Wait until nothing uses the module: connections end asynchronously."""
    end = time.monotonic() + seconds
    while int(system.read("/sys/module/rpcrdma/refcnt") or 0):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def reload(system, out, seconds=30, dry_run=False):
    """Replace the module and return the exit status. Write each action, or the obstacles, to
    out."""
    if not system.exists("/sys/module/rpcrdma"):
        out.write("no rpcrdma module is loaded: modprobe rpcrdma\n")
        return 1
    blocked = blockers(system)
    for what, remedy in blocked:
        out.write(f"{what}: {remedy}\n")
    if blocked:
        return 1
    server = Server(system)
    serves = server.threads and server.rdma_ports
    if serves:
        out.write("nfsd stops: its clients wait\n")
    if dry_run:
        return 0
    if not serves:
        return replace(system, out, seconds)
    server.stop()
    try:
        status = replace(system, out, seconds)
    finally:
        failed = server.start()
        out.writelines(line + "\n" for line in failed)
    if not failed:
        out.write("nfsd serves again, at RDMA port "
                  f"{', '.join(str(port) for port in server.rdma_ports)}\n")
    return 1 if failed else status


def replace(system, out, seconds):
    if not unused(system, seconds):
        out.write("the module is still in use, by an RPC that has not ended: rpcrdma-ctl "
                  "status shows its connection\n")
        return 1
    for command in (("modprobe", "-r", "rpcrdma"), ("modprobe", "rpcrdma")):
        status, output = system.run(*command)
        if status:
            out.write(f"{' '.join(command)}: {output.strip()}\n")
            return 1
    loaded = system.module()["loaded"]
    if not loaded:
        out.write("the module is not loaded\n")
        return 1
    out.write(f"loaded: {loaded['version'] or 'the in-tree module'}"
              f" ({loaded['srcversion']})\n")
    return 0
