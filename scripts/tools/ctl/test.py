#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of rpcrdma-ctl on a simulated host: files below a folder, programs and netlink.

Each subject has a module test_SUBJECT.py; test_host.py is the host. Prints "ok NAME" or
"not ok NAME" for each test, as "make check" reads it.
"""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class Results(unittest.TextTestResult):
    """One line for each test."""

    @staticmethod
    def name(test):
        return test.id().partition(".")[2].replace(".test_", ".").replace("_", "-")

    def addSuccess(self, test):
        super().addSuccess(test)
        print(f"ok {self.name(test)}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        print(f"not ok {self.name(test)} - {str(err[1]).splitlines()[0]}")

    def addError(self, test, err):
        super().addError(test, err)
        print(f"not ok {self.name(test)} - {err[0].__name__}: {err[1]}")


if __name__ == "__main__":
    tests = unittest.defaultTestLoader.discover(str(HERE), "test_*.py")
    sys.exit(not unittest.TextTestRunner(resultclass=Results,
                                         verbosity=0).run(tests).wasSuccessful())
