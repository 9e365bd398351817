# SPDX-License-Identifier: GPL-2.0
"""The state of this host: files below a root, output of programs, and netlink."""

import configparser
import glob
import os
import re
import subprocess

from . import netlink

MODULE = "rpcrdma"
# Exit status if a program is not installed, as in a shell
NO_PROGRAM = 127


class System:
    """Reads files below root, so that a test can provide them."""

    def __init__(self, root="/"):
        self.root = root
        self._netlink = None

    def path(self, name):
        return os.path.join(self.root, name.lstrip("/"))

    def read(self, name):
        """Return the text of a file without its last newline, or None."""
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read().rstrip("\n")
        except OSError:
            return None

    def exists(self, name):
        return os.path.exists(self.path(name))

    def list(self, pattern):
        """Return the names that match a pattern, sorted, without the root."""
        return ["/" + os.path.relpath(name, self.root)
                for name in sorted(glob.glob(self.path(pattern)))]

    def link(self, name):
        """Return the target of a symbolic link, or None."""
        try:
            return os.readlink(self.path(name))
        except OSError:
            return None

    def run(self, *command, given=b""):
        """Run a program with an optional input. Return its exit status and its output."""
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  input=given, check=False, timeout=30)
        except (OSError, subprocess.TimeoutExpired) as error:
            return NO_PROGRAM, str(error)
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def netlink(self):
        """Return the netlink family; raise netlink.Unavailable if there is none."""
        if self._netlink is None:
            self._netlink = netlink.Netlink()
        return self._netlink

    def release(self):
        return self.read("/proc/sys/kernel/osrelease") or ""

    # ---- The module ----

    def modinfo(self, name):
        """Return the fields of an installed module, or {}."""
        status, output = self.run("modinfo", "-k", self.release(), name)
        fields = {}
        if status:
            return fields
        for line in output.splitlines():
            key, separator, value = line.partition(":")
            if separator:
                fields.setdefault(key, value.strip())
        return fields

    def module(self):
        """Return the loaded module and the installed ones."""
        folder = f"/sys/module/{MODULE}"
        loaded = None
        if self.exists(folder):
            loaded = {"version": self.read(f"{folder}/version"),
                      "srcversion": self.read(f"{folder}/srcversion"),
                      "users": int(self.read(f"{folder}/refcnt") or 0),
                      "taint": self.read(f"{folder}/taint") or ""}
        info = self.modinfo(MODULE)
        installed = None
        if info:
            installed = {"file": info.get("filename"), "version": info.get("version"),
                         "srcversion": info.get("srcversion"),
                         "signer": info.get("signer")}
        return {"kernel": self.release(), "loaded": loaded, "installed": installed,
                "files": self.module_files()}

    def module_files(self):
        """Return all files of the module for this kernel."""
        base = f"/lib/modules/{self.release()}"
        files = []
        for folder, _, names in os.walk(self.path(base)):
            files += [os.path.join(folder, name) for name in names
                      if re.fullmatch(rf"{MODULE}\.ko(\.\w+)?", name)]
        return ["/" + os.path.relpath(name, self.root) for name in sorted(files)]

    def parameter(self, name):
        return (self.read(f"/sys/module/{MODULE}/parameters/{name}") or "").strip()

    def identity(self):
        """
        Return the identity of this host in host authentication. Return "" if it is the payload
        of a key, because the key cannot be read.
        """
        if self.key_type() == "rpcrdma" and \
           not self.run("keyctl", "search", "@u", "rpcrdma", "rpcrdma-identity")[0]:
            return ""
        return self.parameter("host_identity") or self.read("/proc/sys/kernel/hostname") or ""

    def in_initial_network(self):
        """
        Return whether this is the host's network namespace. Secrets of other namespaces are
        keys of type "rpcrdma". In a container with its own PID namespace the answer is always
        true, but the container's root does not see the keys of the host's root.
        """
        return self.link("/proc/self/ns/net") == self.link("/proc/1/ns/net")

    def key_type(self):
        return "logon" if self.in_initial_network() else "rpcrdma"

    def secrets(self):
        """
        Return the secrets of all network namespaces: identity, type of the key, length, and
        whether the secret is used in this namespace. The length is 0 if the key is revoked or
        has expired. Only root sees every key. Return None for another user who sees none.
        """
        result = []
        for line in (self.read("/proc/keys") or "").splitlines():
            words = line.split(None, 8)
            match = re.fullmatch(r"rpcrdma:(\S+): (\d+)", words[8].strip()) \
                if len(words) == 9 and words[7] in ("logon", "rpcrdma") else None
            if not match:
                continue
            valid = not set("RDNi") & set(words[1]) and words[3] != "expd"
            result.append({"identity": match[1], "type": words[7],
                           "length": int(match[2]) if valid else 0,
                           "here": self._is_found(words[0], words[7], match[1])})
        return result if result or self.is_root() else None

    def _is_found(self, serial, kind, identity):
        """Return whether the module uses this key in this namespace."""
        if kind != self.key_type():
            return False
        if kind == "logon":
            return True
        # Keys of several namespaces can have the same name. The kernel finds this namespace's.
        status, output = self.run("keyctl", "search", "@u", kind, f"rpcrdma:{identity}")
        return not status and output.strip().isdigit() and int(output) == int(serial, 16)

    def add_secret(self, identity, secret):
        """Load a secret for this network namespace. Return an error message, or None."""
        kind = self.key_type()
        status, output = self.run("keyctl", "padd", kind, f"rpcrdma:{identity}", "@u",
                                  given=secret)
        if status == NO_PROGRAM:
            return "keyctl is not installed: install keyutils"
        if status and kind == "rpcrdma" and not self.exists(f"/sys/module/{MODULE}"):
            return "a network namespace needs the module for it: modprobe rpcrdma"
        return output.strip() if status else None

    @staticmethod
    def is_root():
        return os.geteuid() == 0

    # ---- Devices ----

    def devices(self):
        """
        Return the RDMA devices with their ports. By default the kernel shows each device in
        every network namespace. A device that only has interfaces in other namespaces cannot
        be used here, and is left out.
        """
        devices = [self._device(name) for name in self.list("/sys/class/infiniband/*")]
        return [device for device in devices if device]

    def _device(self, folder):
        kind = (self.read(f"{folder}/node_type") or "").partition(": ")[2]
        device = {"name": os.path.basename(folder), "type": kind,
                  "firmware": self.read(f"{folder}/fw_ver"), "ports": []}
        ports = [self._port(port) for port in self.list(f"{folder}/ports/*")]
        device["ports"] = [port for port in ports if port]
        return device if device["ports"] or not ports else None

    def _port(self, folder):
        gids, netdevs, elsewhere = [], set(), False
        for name in self.list(f"{folder}/gids/*"):
            index = os.path.basename(name)
            gid = self.read(name)
            # Skip empty entries first, because soft-RoCE's table has 1024 of them.
            if not gid or not gid.replace(":", "").strip("0"):
                continue
            kind = self.read(f"{folder}/gid_attrs/types/{index}")
            netdev = self.read(f"{folder}/gid_attrs/ndevs/{index}")
            if netdev and self.read(f"/sys/class/net/{netdev}/mtu") is None:
                elsewhere = True
                continue
            if netdev:
                netdevs.add(netdev)
            if kind:
                gids.append({"gid": gid, "type": kind, "netdev": netdev})
        if elsewhere and not gids:
            return None
        return {"port": int(os.path.basename(folder)),
                "state": (self.read(f"{folder}/state") or "").partition(": ")[2],
                "link_layer": self.read(f"{folder}/link_layer"),
                "rate": self.read(f"{folder}/rate"),
                "gids": gids,
                "netdevs": [{"name": name, "mtu": self.mtu(name),
                             "operstate": self.read(f"/sys/class/net/{name}/operstate")}
                            for name in sorted(netdevs)]}

    def mtu(self, netdev):
        return int(self.read(f"/sys/class/net/{netdev}/mtu") or 0)

    def mtu_towards(self, host, local):
        """
        Return the MTU of the interface towards a host. Return 0 if there is no route or the
        host is this one, and None if ip is not installed.
        """
        command = ["ip", "-o", "route", "get", host] + (["from", local] if local else [])
        status, output = self.run(*command)
        if status == NO_PROGRAM:
            return None
        match = re.search(r" dev (\S+)", output)
        return self.mtu(match[1]) if match and not status and match[1] != "lo" else 0

    def ping(self, host, size):
        """
        Return whether a host answers a packet with size bytes of data. Return None if ping
        cannot run.
        """
        status, _ = self.run("ping", "-n", "-q", "-c", "2", "-W", "1", "-M", "do",
                             "-s", str(size), host)
        return {0: True, 1: False}.get(status)

    # ---- NFS ----

    def mounts(self):
        """Return the NFS mounts with the transports that they use."""
        result, mount, options = [], None, self._options()
        for line in (self.read("/proc/self/mountstats") or "").splitlines():
            match = re.match(r"device (\S+) mounted on (\S+) with fstype (nfs4?) ", line)
            if line.startswith("device "):
                mount = None
            if match:
                mount = {"device": match[1], "mountpoint": match[2],
                         "options": options.get(match[2], {}), "transports": [], "operations": {}}
                result.append(mount)
            elif mount is not None:
                self._mount_line(mount, line.split())
        return result

    def _options(self):
        """Return the options of each mount point. The ones in mountstats lack addr."""
        result = {}
        for line in (self.read("/proc/self/mounts") or "").splitlines():
            words = line.split()
            if len(words) > 3:
                result[words[1]] = dict(option.partition("=")[::2]
                                        for option in words[3].split(","))
        return result

    @staticmethod
    def _mount_line(mount, words):
        if not words:
            return
        if words[0] == "xprt:":
            mount["transports"].append({"protocol": words[1],
                                        "values": [int(word) for word in words[2:]]})
        elif words[0] == "bytes:":
            mount["bytes"] = {"read": int(words[5]), "written": int(words[6])}
        elif re.fullmatch(r"[A-Z_]+:", words[0]) and len(words) >= 9:
            values = [int(word) for word in words[1:9]]
            if values[0]:
                mount["operations"][words[0][:-1]] = {
                    "count": values[0], "sent": values[3], "received": values[4],
                    "rtt_ms": values[6], "execute_ms": values[7]}

    def fstab(self):
        """Return mount points that /etc/fstab mounts with proto=rdma."""
        points = []
        for line in (self.read("/etc/fstab") or "").splitlines():
            words = line.split("#")[0].split()
            if len(words) >= 4 and words[2] in ("nfs", "nfs4") and \
               {"rdma", "proto=rdma", "proto=rdma6"} & set(words[3].split(",")):
                points.append(words[1])
        return points

    def nfsd(self):
        """Return the server's threads, its RDMA ports, and those of its configuration."""
        ports = [int(words[1]) for words in
                 (line.split() for line in
                  (self.read("/proc/fs/nfsd/portlist") or "").splitlines())
                 if len(words) == 2 and words[0] == "rdma"]
        return {"threads": int(self.read("/proc/fs/nfsd/threads") or 0),
                "rdma_ports": sorted(set(ports)), "configured": self.configured()}

    def configured(self):
        """Return true if nfs.conf makes nfsd listen for RDMA."""
        value = "n"
        for name in ["/etc/nfs.conf", *self.list("/etc/nfs.conf.d/*.conf")]:
            parser = configparser.ConfigParser(strict=False, allow_no_value=True,
                                               interpolation=None,
                                               inline_comment_prefixes=("#",))
            try:
                parser.read_string(self.read(name) or "")
            except configparser.Error:
                continue
            value = parser.get("nfsd", "rdma", fallback=value) or value
        return value.strip().lower() in ("y", "yes", "1", "true", "on", "t")
