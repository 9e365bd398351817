#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0
"""Check that the tracepoints, their fields and the numbers in the programs for bpftrace exist.

    test.py HEADER

HEADER is the kernel's include/trace/events/sunrpc.h. A program whose field is gone does not
start, and one whose number means something else shows nothing, or something else."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
# The enumerator that each program means by the number with which it compares a field
NUMBERS = {
    "rpcrdma-client": {"kind": "RPCRDMA_WORK_CALL", "verdict": "RPCRDMA_RX_REPLY"},
    "rpcrdma-server": {"kind": "RPCRDMA_WORK_REPLY", "verdict": "RPCRDMA_RX_CALL"},
    "rpcrdma-stalls": {"kind": "RPCRDMA_WORK_CALL"},
}


def events(text):
    """Return the fields of each tracepoint in a header."""
    fields, result = {}, {}
    for kind, name, body in re.findall(
            r"^(TRACE_EVENT|DECLARE_EVENT_CLASS)\((\w+),(.*?)^\);?$", text, re.M | re.S):
        entry = body[body.index("TP_STRUCT__entry("):body.index("TP_fast_assign(")]
        fields[name] = set(re.findall(r"__(?:field|array)\([^,]+, *(\w+)", entry)) | \
            set(re.findall(r"__(?:string|sockaddr)\((\w+)", entry))
        if kind == "TRACE_EVENT":
            result[name] = fields[name]
    for parent, name in re.findall(r"^DEFINE_EVENT\((\w+), *(\w+)", text, re.M):
        if parent in fields:
            result[name] = fields[parent]
    return result


def enumerators():
    """Return the numbers of the enumerators in the interface of the core."""
    result = {}
    for header in sorted((TOP / "include/rpcrdma").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text("utf-8"), flags=re.S)
        for body in re.findall(r"\benum(?: \w+)? \{(.*?)\}", text, re.S):
            number = -1
            for item in filter(None, map(str.strip, body.split(","))):
                name, _, value = map(str.strip, item.partition("="))
                number = number + 1 if not value else result.get(value, value)
                if not isinstance(number, int):
                    if not re.fullmatch(r"\d+|0x[0-9a-fA-F]+", number):
                        break
                    number = int(number, 0)
                result[name] = number
    return result


def faults(program, known, numbers):
    """Yield what is wrong in a program."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", program.read_text("utf-8"), flags=re.S)
    found = re.findall(r"^tracepoint:(\w+):(\w+)\n(.*?)^\}", text, re.M | re.S)
    if not found:
        yield "no tracepoint"
    for _, event, body in found:
        if event not in known:
            yield f"there is no tracepoint {event}"
            continue
        for field in sorted(set(re.findall(r"args->(\w+)", body)) - known[event]):
            yield f"{event} has no field {field}"
        for field, number in re.findall(r"args->(\w+) == (\d+)", body):
            name = NUMBERS.get(program.stem, {}).get(field)
            if numbers.get(name) != int(number):
                yield f"{field} == {number}, and {name} is {numbers.get(name)}"


def main():
    known = {}
    for header in [pathlib.Path(sys.argv[1]), *TOP.glob("net/sunrpc/xprtrdma/*/trace*.h")]:
        known.update(events(header.read_text("utf-8")))
    numbers = enumerators()
    wrong = [f"{program.name}: {fault}" for program in sorted(HERE.glob("*.bt"))
             for fault in faults(program, known, numbers)]
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
