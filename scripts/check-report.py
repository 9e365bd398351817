#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""check-report.py FOLDER [XML]: print one page about a run of scripts/check.sh. Its last
line is "N passed, N failed" (", N skipped" may follow); the exit status is 0 if none
failed and one or more passed.

FOLDER has these files for each level:
LEVEL.results    lines "ok NAME", "ok NAME # SKIP reason", "not ok NAME - reason"
LEVEL.seconds    duration of the level
LEVEL.processor  processor time of the level in seconds
LEVEL.retried    a line for each test that was tried twice, if there was one
processors       seconds in which the processors were busy, and percent in which they were idle

The same results are written to the file XML as JUnit XML."""
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

SLOWEST = 12
LINE = re.compile(r"(?P<bad>not )?ok (?P<name>\S+)(?P<rest>.*)")
SECONDS = re.compile(r"\((\d+(?:\.\d+)?) s\)")


class Test:
    def __init__(self, match):
        self.name = match["name"]
        self.failed = bool(match["bad"])
        self.rest = match["rest"].strip(" -")
        self.skipped = not self.failed and self.rest.startswith("# SKIP")
        took = SECONDS.search(self.rest)
        self.seconds = float(took[1]) if took else None


class Level:
    def __init__(self, path):
        self.name = path.name.removesuffix(".results")
        lines = path.read_text(errors="replace").splitlines()
        self.tests = [Test(m) for m in map(LINE.fullmatch, lines) if m]
        self.seconds = number(path.with_name(self.name + ".seconds"))
        self.processor = number(path.with_name(self.name + ".processor"))
        self.retried = lines_of(path.with_name(self.name + ".retried"))

    def counts(self):
        """Return how many tests passed, failed and were skipped."""
        failed = sum(test.failed for test in self.tests)
        skipped = sum(test.skipped for test in self.tests)
        return len(self.tests) - failed - skipped, failed, skipped


def lines_of(path):
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def number(path):
    lines = lines_of(path)
    return int(lines[0]) if lines else 0


def page(levels, processors):
    print(f'{"level":16} {"passed":>7} {"failed":>7} {"skipped":>8} {"seconds":>8} {"processor":>10}')
    for level in levels:
        passed, failed, skipped = level.counts()
        print(f"{level.name:16} {passed:7} {failed:7} {skipped:8} {level.seconds:8} {level.processor:10}")
    if processors:
        print(f"The processors were busy for {processors[0]} s, and idle for {processors[1]} % of the time.")
    timed = sorted((t for level in levels for t in level.tests if t.seconds), key=lambda t: -t.seconds)
    if timed:
        print("\nSlowest tests:")
        for test in timed[:SLOWEST]:
            print(f"  {test.seconds:6.0f} s  {test.name}")
    print("\nTried a second time:" if any(level.retried for level in levels) else "\nNothing was tried a second time.")
    for level in levels:
        for line in level.retried:
            print(f"  {level.name}: {line}")
    failures = [test for level in levels for test in level.tests if test.failed]
    if failures:
        print("\nFailed:")
        for test in failures:
            print(f"  {test.name} - {test.rest}")


def closing_line(levels):
    """Print the sums of all levels, and return whether they are those of a good run."""
    passed, failed, skipped = map(sum, zip(*(level.counts() for level in levels), (0, 0, 0)))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return passed > 0 and not failed


def junit(levels, path):
    root = ET.Element("testsuites")
    for level in levels:
        _, failed, skipped = level.counts()
        suite = ET.SubElement(root, "testsuite", name=level.name, tests=str(len(level.tests)),
                              failures=str(failed), skipped=str(skipped),
                              time=str(level.seconds))
        for test in level.tests:
            case = ET.SubElement(suite, "testcase", classname=level.name, name=test.name)
            if test.seconds is not None:
                case.set("time", str(test.seconds))
            if test.failed:
                ET.SubElement(case, "failure", message=printable(test.rest))
            elif test.skipped:
                ET.SubElement(case, "skipped", message=printable(test.rest.removeprefix("# SKIP").strip()))
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def printable(text):
    """Return text without the characters that XML does not allow."""
    return "".join(c for c in text if c == "\t" or c >= " ")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    found = pathlib.Path(sys.argv[1]).glob("*.results")
    levels = [Level(path) for path in sorted(found, key=lambda path: path.stat().st_mtime)]
    page(levels, " ".join(lines_of(pathlib.Path(sys.argv[1], "processors"))).split())
    if len(sys.argv) == 3:
        junit(levels, sys.argv[2])
    sys.exit(0 if closing_line(levels) else 1)


if __name__ == "__main__":
    main()
