#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check that Documentation/debugging.rst has each reason that the module logs.

A reason is a static string of several words that is not a format, because the function that
logs a reason gets it as a pointer.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE = ROOT / "net/sunrpc/xprtrdma"
# Descriptions of parameters, and lines of mountstats
OTHERS = {"settings.c", "module.c", "requester_show.c"}
# Strings that are not reasons: the result of a check without a fault, the name of a transport
NO_REASONS = {"nothing is wrong", "rdma backchannel"}


def strings(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'"\s*\n\s*"', "", text)
    text = re.sub(r"\bMODULE_\w+\([^;]*\);", "", text)
    found = re.findall(r'"([A-Za-z][^"%\\]* [^"%\\]*)"', text)
    return {s for s in found if not s.startswith(("rpcrdma:", "svcrdma:"))}


def main():
    files = [f for pattern in ("core/*/*.cc", "verbs/*.c", "sunrpc/*.c")
             for f in sorted(MODULE.glob(pattern)) if f.name not in OTHERS]
    documented = " ".join((ROOT / "Documentation/debugging.rst").read_text().split())
    count = bad = 0
    for file in files:
        for reason in sorted(strings(file.read_text()) - NO_REASONS):
            count += 1
            if reason not in documented:
                print(f"{file.relative_to(ROOT)}: debugging.rst does not have \"{reason}\"")
                bad += 1
    print(f"{count} reasons, {bad} not documented")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
