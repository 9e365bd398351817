# SPDX-License-Identifier: GPL-2.0
"""Tracepoints, a packet capture and the state of the host, in one archive."""

import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time

TRACING = "/sys/kernel/tracing"

PRESETS = {
    "connect": ["rpcrdma_connect", "rpcrdma_opened", "rpcrdma_disconnect",
                "rpcrdma_wc_error"],
    "errors": ["rpcrdma_refuse", "rpcrdma_wc_error", "rpcrdma_disconnect"],
    "messages": ["rpcrdma_connect", "rpcrdma_opened", "rpcrdma_disconnect", "rpcrdma_send",
                 "rpcrdma_receive", "rpcrdma_refuse", "rpcrdma_wc_error"],
    "memory": ["rpcrdma_map", "rpcrdma_invalidate", "rpcrdma_read"],
    "all": [],
}


class TraceError(Exception):
    """The trace cannot be recorded, for the reason in the text."""


class Instance:
    """A separate trace instance, which does not disturb other users of tracing."""

    def __init__(self, system, preset, size_kib):
        self.system = system
        self.folder = system.path(f"{TRACING}/instances/rpcrdma-ctl.{os.getpid()}")
        if not system.exists(f"{TRACING}/events/rpcrdma"):
            raise TraceError("no tracepoints: load the module, mount tracefs, and run "
                             "this program as root")
        try:
            os.mkdir(self.folder)
        except OSError as error:
            raise TraceError(f"{self.folder}: {error.strerror}") from error
        self.write("buffer_size_kb", str(size_kib))
        events = PRESETS[preset]
        if not events:
            self.write("events/rpcrdma/enable", "1")
        for event in events:
            self.write(f"events/rpcrdma/{event}/enable", "1")

    def write(self, name, value):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(value)

    def stop(self):
        """Stop tracing and return the text of the trace."""
        self.write("tracing_on", "0")
        with open(os.path.join(self.folder, "trace"), encoding="utf-8",
                  errors="replace") as file:
            return file.read()

    def remove(self):
        try:
            os.rmdir(self.folder)
        except OSError:
            pass


def capture(interface, path):
    """Start capturing packets of RoCE version 2 and of NFS over iWARP."""
    packets = "udp port 4791 or tcp port 20049"
    if shutil.which("tcpdump"):
        command = ["tcpdump", "-i", interface, "-s", "0", "-U", "-w", path, packets]
    elif shutil.which("dumpcap"):
        command = ["dumpcap", "-q", "-i", interface, "-w", path, "-f", packets]
    else:
        raise TraceError("install tcpdump or dumpcap to capture packets")
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # The program creates the file after it has opened the device.
    while program.poll() is None and not os.path.exists(path):
        time.sleep(0.05)
    if program.poll() is not None:
        raise TraceError(f"{command[0]} cannot capture packets of {interface}")
    return program


def wait(seconds, command):
    """Run the command, or sleep for the given time. Ctrl-C ends either."""
    try:
        if command:
            return subprocess.run(command, check=False).returncode
        time.sleep(seconds)
    except KeyboardInterrupt:
        pass
    except OSError as error:
        raise TraceError(f"{command[0]}: {error.strerror}") from error
    return 0


def record(system, preset, output, *, seconds=10, command=None, interface=None,
           size_kib=4096, reports=None):
    """Write the archive, and return the exit status of the command."""
    with tempfile.TemporaryDirectory() as folder:
        instance = Instance(system, preset, size_kib)
        dump = None
        try:
            if interface:
                dump = capture(interface, os.path.join(folder, "packets.pcap"))
            status = wait(seconds, command)
            trace = instance.stop()
        finally:
            if dump:
                dump.send_signal(signal.SIGINT)
                dump.wait()
            instance.remove()
        files = {"trace.txt": trace, "log.txt": system.run("dmesg")[1]}
        for name, report in (reports or {}).items():
            files[name] = json.dumps(report(), indent=2) + "\n"
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        with tarfile.open(output, "w:gz") as archive:
            for name in sorted(os.listdir(folder)):
                archive.add(os.path.join(folder, name), f"rpcrdma-trace/{name}")
    return status
