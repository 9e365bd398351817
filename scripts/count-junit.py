#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print "ok NAME", "not ok NAME - reason" or "ok NAME # SKIP" for each test
case in the JUnit XML files given, as GoogleTest writes them."""
import sys
import xml.etree.ElementTree as ET


def main():
    for path in sys.argv[1:]:
        try:
            root = ET.parse(path).getroot()
        except (ET.ParseError, OSError) as error:
            # A test program that crashed leaves a truncated file or none.
            print(f"not ok {path} - {error}")
            continue
        for case in root.iter("testcase"):
            name = f'{case.get("classname", "")}.{case.get("name", "")}'
            failure = case.find("failure")
            if failure is None:
                failure = case.find("error")
            if failure is not None:
                text = failure.get("message") or failure.text or "failed"
                print(f"not ok {name} - {' '.join(text.split())}")
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                print(f"ok {name} # SKIP")
            else:
                print(f"ok {name}")


if __name__ == "__main__":
    main()
