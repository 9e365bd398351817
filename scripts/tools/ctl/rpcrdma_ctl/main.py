# SPDX-License-Identifier: GPL-2.0
"""The command line."""

import argparse
import json
import sys
import time

from . import doctor, metrics, netlink, reload, secrets, status, top, trace
from .system import System


def arguments():
    parser = argparse.ArgumentParser(
        prog="rpcrdma-ctl", description="Show and manage RPC-over-RDMA (NFS over RDMA).")
    parser.add_argument("--root", default="/", help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, summary):
        sub = commands.add_parser(name, help=summary, description=summary)
        if name not in ("reload", "metrics", "trace", "secrets"):
            sub.add_argument("--json", action="store_true", help="print JSON")
        return sub

    command("status", "show module, devices, listeners, mounts and connections")
    command("doctor", "report problems, each with a remedy")
    sub = command("top", "show the rates of connections and mounts")
    sub.add_argument("-d", "--delay", type=float, default=2, metavar="SECONDS",
                     help="time between two samples (default 2)")
    sub.add_argument("-n", "--count", type=int, default=0, metavar="N",
                     help="end after N samples")
    command("events", "show connections as they open and close")
    sub = command("trace", "record tracepoints and packets in one archive")
    sub.add_argument("-p", "--preset", choices=sorted(trace.PRESETS), default="messages",
                     help="tracepoints to record (default: messages)")
    sub.add_argument("-i", "--interface", metavar="DEVICE",
                     help="capture packets of this network device, too")
    sub.add_argument("-t", "--time", type=float, default=10, metavar="SECONDS",
                     help="how long to record if there is no PROGRAM (default 10)")
    sub.add_argument("-o", "--output", default="rpcrdma-trace.tar.gz", metavar="FILE",
                     help="archive to write (default rpcrdma-trace.tar.gz)")
    sub.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM",
                     help="run this program and stop recording when it ends")
    sub = command("reload", "replace the loaded module by the installed one")
    sub.add_argument("--dry-run", action="store_true", help="only print the actions")
    sub.add_argument("-t", "--time", type=float, default=30, metavar="SECONDS",
                     help="how long to wait for connections to end (default 30)")
    sub = command("metrics", "print metrics for node_exporter's textfile collector")
    sub.add_argument("-o", "--output", metavar="FILE", help="replace this file instead of printing")
    sub = command("secrets", "load the secrets of host authentication from files")
    sub.add_argument("folder", nargs="?", default=secrets.FOLDER, metavar="FOLDER",
                     help=f"folder with one file for each identity (default {secrets.FOLDER})")
    return parser


def print_json(result, out):
    json.dump(result, out, indent=2)
    out.write("\n")


def run_status(system, options, out):
    result = status.status(system)
    (print_json if options.json else status.show)(result, out)
    return 0


def run_doctor(system, options, out):
    result = doctor.findings(system)
    (print_json if options.json else doctor.show)(result, out)
    return doctor.status(result)


def run_top(system, options, out):
    old, done = top.sample(system), 0
    while not options.count or done < options.count:
        time.sleep(options.delay)
        new = top.sample(system)
        result = top.compare(old, new)
        if options.json:
            out.write(json.dumps(result) + "\n")
        else:
            if out.isatty():
                out.write("\x1b[H\x1b[2J")
            top.show(result, out)
        out.flush()
        old, done = new, done + 1
    return 0


def run_events(system, options, out):
    for connection in system.netlink().events():
        if options.json:
            out.write(json.dumps(connection or {"lost": True}) + "\n")
        elif connection is None:
            out.write(f"{time.strftime('%FT%T')} events were lost\n")
        else:
            out.write(f"{time.strftime('%FT%T')} {connection['role']} "
                      f"{netlink.text(connection['local'])} - "
                      f"{netlink.text(connection['remote'])}, "
                      f"{status.describe(connection)}"
                      + (", open" if connection["state"] == "open" else "") + "\n")
        out.flush()
    return 0


def run_trace(system, options, out):
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    result = trace.record(system, options.preset, options.output, seconds=options.time,
                          command=program, interface=options.interface,
                          reports={"status.json": lambda: status.status(system),
                                   "doctor.json": lambda: doctor.findings(system)})
    out.write(f"{options.output}\n")
    return result


def run_reload(system, options, out):
    return reload.reload(system, out, options.time, options.dry_run)


def run_metrics(system, options, out):
    if options.output:
        metrics.write(system.netlink(), options.output)
    else:
        out.writelines(line + "\n" for line in metrics.lines(system.netlink()))
    return 0


def run_secrets(system, options, out):
    return secrets.load(system, out, options.folder)


RUN = {"status": run_status, "doctor": run_doctor, "top": run_top, "events": run_events,
       "trace": run_trace, "reload": run_reload, "metrics": run_metrics,
       "secrets": run_secrets}


def main(argv=None, system=None, out=sys.stdout):
    options = arguments().parse_args(argv)
    try:
        return RUN[options.command](system or System(options.root), options, out)
    except (netlink.Unavailable, trace.TraceError) as error:
        sys.stderr.write(f"rpcrdma-ctl: {error}\n")
    except OSError as error:
        sys.stderr.write(f"rpcrdma-ctl: {error.filename or ''}: {error.strerror}\n")
    except KeyboardInterrupt:
        return 130
    return 3
