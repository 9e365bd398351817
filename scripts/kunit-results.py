#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""kunit-results.py KUNIT_DIR DMESG EXPECTED_SUITES

Print "ok NAME" or "not ok NAME - reason" for each KUnit case in DMESG, the kernel's
log while one test module was loaded. The parser is the kernel's, in KUNIT_DIR
(tools/testing/kunit). EXPECTED_SUITES is the number of suites of the module."""
import inspect
import io
import re
import sys


def ktap(path):
    """Return a complete KTAP document: older kernels log a module's suites without a head."""
    lines = []
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            lines.append(re.sub(r"^(<\d+>)?\[ *\d+\.\d+\](\[ *[TC]\d+\])? ?", "", line.rstrip("\n")))
    suites = sum(1 for line in lines if re.match(r"(not )?ok \d+ ", line))
    if "KTAP version 1" in lines:
        return lines, suites
    return ["KTAP version 1", f"1..{suites}"] + lines, suites


def main():
    kunit_dir, path, expected = sys.argv[1], sys.argv[2], int(sys.argv[3])
    lines, suites = ktap(path)
    # The parser's own output is not needed here.
    said, sys.stdout = sys.stdout, io.StringIO()
    try:
        sys.path.insert(0, kunit_dir)
        import kunit_parser  # pylint: disable=import-error,import-outside-toplevel

        args = [lines]
        if "printer" in inspect.signature(kunit_parser.parse_run_tests).parameters:
            # Linux 7.0
            args.append(kunit_parser.Printer(output=sys.stdout))
        result = kunit_parser.parse_run_tests(*args)
    finally:
        sys.stdout = said

    status = kunit_parser.TestStatus
    cases = 0

    def walk(test, names):
        nonlocal cases
        # The parameters of a case are its subtests. Count the case, not its
        # parameters.
        if not test.subtests or len(names) >= 2:
            if not names:
                return
            cases += 1
            name = ".".join(names)
            if test.status == status.SUCCESS:
                print(f"ok {name}")
            elif test.status == status.SKIPPED:
                print(f"ok {name} # SKIP")
            else:
                why = [l.strip() for l in test.log if "EXPECTATION FAILED" in l or "ASSERTION FAILED" in l]
                print(f"not ok {name} - {why[0].lstrip('# ') if why else test.status.name.lower()}")
            return
        for part in test.subtests:
            walk(part, names + [part.name])

    walk(result, [])
    if suites != expected:
        print(f"not ok suites - the module has {expected} suites and {suites} have run")
    if cases == 0:
        print("not ok cases - no test case has run")


if __name__ == "__main__":
    main()
