#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of conformance.py, on checkouts that are created here: each fault is reported."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance.py")

CHECK = """
levels=("$@")
[ ${#levels[@]} -gt 0 ] || levels=(engine build kunit e2e)

level_build()
{
	try build/form true
}

level_e2e()
{
	run_e2e e2e "$1" -- "$1/guest/e2e.sh" full
}

level_interop()
{
	run_e2e interop "$1" -- "$1/guest/other.sh"
}
"""

ENGINE = """
TEST(Suite, Plain)
{
}
/* TEST(Suite, InComment) */
TEST(Suite, DISABLED_Off)
{
}
TEST_P(Params, All)
{
}
TEST_P(Unused, All)
{
}
const params cases[] = { { "first" } };
INSTANTIATE_TEST_SUITE_P(All, Params, testing::ValuesIn(cases));
"""

KUNIT = """
static struct kunit_case some_cases[] = {
	KUNIT_CASE(runs),
	{}
};
static struct kunit_suite some_suite = {
	.name		= "suite",
	.test_cases	= some_cases,
};
static struct kunit_case other_cases[] = {
	KUNIT_CASE(in_no_suite),
	{}
};
"""

E2E = """
. "$(dirname "$0")/part.sh"
VERSIONS='3 4.2'
for v in $VERSIONS; do
	t $v.mount 90 mount_works $v
done
for group in first second; do
	t program.$group 90 cases $group
done
"""

PROGRAM = """
CASE(first, case) { }
CASE(third, case) { }
"""

PAGE = """
===
doc
===

.. csv-table:: Rules in each section
   :header: Section, Rules

   1, 3
   2.1, 1

.. list-table::
   :header-rows: 1

   * - Rule
     - Word
     - What it asks
     - Shown by
   * - 1 #1
     - MUST
     - One.
     - ``engine/Suite.Plain``, ``engine/Params.All/first``,
       ``kunit/suite.runs``
   * - 1 #2-3
     - SHOULD
     - Two and three.
     - Does not apply: these are rules for somebody else.
   * - 2.1 #1
     - MUST NOT
     - Four.
     - Replaced: by what the wire profile says. ``e2e/4.2.mount``
"""

PROFILE = """
1. First
========

This \\* is one, * \\* this another.

2. Second
=========

\\* And one.

* An item
  without one.
* \\* With one.
"""

STARS = """
:Counted in: Documentation/wire-profile.rst
:Cited as: WP

.. list-table::

   * - Rule
     - Word
     - What it asks
     - Shown by
   * - 1 #1
     - \\*
     - One.
     - ``e2e/in.part``, ``e2e/program.second``, ``e2e/cases.first.case``
   * - 1 #2
     - \\*
     - Two.
     - ``build/form``
   * - 2 #1
     - \\*
     - Three.
     - Not built yet: the second half of it.
   * - 2 #2
     - \\*
     - Four.
     - ``build/form``
   * - 2 #a
     - (implied)
     - Five.
     - ``build/form``
"""

TEXT = """
1. Begin

It MUST be so, and it SHOULD
be so. It SHOULD too.

2.1. End

They MUST
NOT be.
"""


class Conformance(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.write("scripts/check.sh", CHECK)
        self.write("scripts/guest/e2e.sh", E2E)
        self.write("scripts/guest/part.sh", "t in.part 10 true\n")
        self.write("scripts/guest/other.sh", "t elsewhere 10 true\n")
        self.write("scripts/guest/e2e/cases/first.c", PROGRAM)
        self.write("kunit/core/a_test.cc", ENGINE)
        self.write("kunit/subject/suites.c", KUNIT)
        self.write("Documentation/wire-profile.rst", PROFILE)
        self.write("Documentation/conformance.rst", "\n.. toctree::\n\n   conformance/doc\n   conformance/stars\n")
        self.write("Documentation/conformance/doc.rst", PAGE)
        self.write("Documentation/conformance/stars.rst", STARS)

    def write(self, path, text):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def run_it(self, *options):
        return subprocess.run([sys.executable, SCRIPT, "--root", self.folder.name, *options],
                              capture_output=True, text=True, check=False)

    def passes(self, *options):
        done = self.run_it(*options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def fails(self, what, *options):
        done = self.run_it(*options)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(what, done.stdout)

    def doc(self, old, new, what):
        """Make one change to the page, and require that conformance.py reports it."""
        self.assertEqual(PAGE.count(old), 1, old)
        self.write("Documentation/conformance/doc.rst", PAGE.replace(old, new))
        self.fails(what)

    def test_counts(self):
        rows = [line.split() for line in self.passes().splitlines()]
        self.assertIn(["doc", "4", "1", "1", "2", "0"], rows)
        self.assertIn(["stars", "5", "4", "0", "0", "1"], rows)
        self.assertIn(["all", "9", "5", "1", "2", "1"], rows)

    def test_tests_that_are_not_there(self):
        for name in ("engine/Suite.Other", "engine/Suite.InComment", "engine/Suite.DISABLED_Off", "engine/Unused.All",
                     "engine/Params.All/second", "kunit/suite.other", "kunit/suite.in_no_suite", "e2e/4.0.mount",
                     "interop/elsewhere", "e2e/elsewhere", "e2e/program.third",
                     "e2e/cases.third.case", "build/other", "Suite.Plain"):
            self.doc("engine/Suite.Plain", name, f"make check runs no test {name}")

    def test_level_that_does_not_run(self):
        self.write("scripts/check.sh", CHECK.replace("kunit e2e)", "e2e)"))
        self.fails("make check runs no test kunit/suite.runs")

    def test_rows(self):
        self.doc("``engine/Suite.Plain``, ``engine/Params.All/first``,\n       ``kunit/suite.runs``", "",
                 "1 #1 has neither a test nor a reason")
        self.doc("``engine/Suite.Plain``, ``engine/Params.All/first``,\n       ``kunit/suite.runs``", "By design.",
                 "1 #1 has neither a test nor a reason")
        self.doc(": these are rules for somebody else.", ":", "gives no reason")
        self.doc(" ``e2e/4.2.mount``", "", "no test shows by what")
        self.doc("somebody else.", "somebody else. ``build/form``", "does not apply and has a test")
        self.doc("Does not apply: these are rules for somebody else.", "``build/form``", "may have a row together")
        self.doc("Does not apply: these", "Not built yet: these", "may have a row together")
        self.doc("     - Four.\n", "", "not a row of four cells")
        self.doc("2.1 #1", "2.1 one", "not a row of four cells")
        self.doc("- Four.", "-", "does not say what it asks")

    def test_numbers(self):
        self.doc("1, 3", "1, 4", "1 #4 has no row")
        self.doc("1, 3", "1, 2", "1 #3 is not in the table of sections")
        self.doc("1 #2-3", "1 #2", "1 #3 has no row")
        self.doc("1 #2-3", "1 #1-3", "1 #1 has two rows")
        self.doc("   2.1, 1\n", "", "2.1 #1 is not in the table of sections")
        self.doc("2.1, 1", "2.1, one", "not a section and a number")
        self.doc("2.1, 1", "1, 3", "listed twice")

    def test_stars(self):
        self.write("Documentation/wire-profile.rst", PROFILE + "\n* \\* And one more.\n")
        self.fails("2 #3 (\\*) of Documentation/wire-profile.rst has no row")
        self.write("Documentation/wire-profile.rst", PROFILE.replace("This \\* is", "This is"))
        self.fails("1 #2 is not in Documentation/wire-profile.rst")

    def test_letters(self):
        self.write("Documentation/wire-profile.rst", PROFILE + "* And one more\n  without it.\n")
        self.fails("has 2 list items, paragraphs and tables without a star in section 2, and 1 rows")
        self.write("Documentation/wire-profile.rst", PROFILE.replace("without one", "with \\* one"))
        self.fails("has 0 list items, paragraphs and tables without a star in section 2, and 1 rows")
        self.write("Documentation/wire-profile.rst", PROFILE + "\nA rule in prose,\nwithout one.\n")
        self.fails("has 2 list items, paragraphs and tables without a star in section 2, and 1 rows")
        self.write("Documentation/wire-profile.rst", PROFILE + "\n===== =====\nin a  table\n===== =====\n")
        self.fails("has 2 list items, paragraphs and tables without a star in section 2, and 1 rows")
        # The continuation of a paragraph, and a paragraph with a star, are not lettered rules.
        self.write("Documentation/wire-profile.rst", PROFILE + "\n\\* With one::\n\n   and an example\n\n.. a comment\n")
        self.fails("2 #3 (\\*) of Documentation/wire-profile.rst has no row")
        self.write("Documentation/wire-profile.rst", PROFILE)
        self.write("Documentation/conformance/stars.rst", STARS.replace("2 #a", "2 #b"))
        self.fails("2 #b is not the next letter of its section")
        self.write("Documentation/conformance/stars.rst", STARS.replace("(implied)", "MUST"))
        self.fails("2 #a: its word is none of (lower case), (implied)")
        self.write("Documentation/conformance/stars.rst", STARS.replace("     - Five.\n", "     -\n"))
        self.fails("2 #a does not say what it asks")

    def test_citations(self):
        for comment, complaint in (("WP 2", None), ("WP 1, 2 and\n * 1", None), ("WP 3.1", "WP has no section 3.1"),
                                   ("WP 1, 9", "WP has no section 9"), ("WP\n * 1 and\n * 3", "WP has no section 3"),
                                   ("RFC 1234, 5", None), ("WP 2, 4096 octets", None)):
            self.write("net/file.c", f"\n/*\n * The rule ({comment}).\n */\n")
            if complaint:
                self.fails("net/file.c:3: " + complaint)
            else:
                self.passes()
        self.write("net/file.c", "")

    def test_pages(self):
        self.write("Documentation/conformance.rst", "\n   conformance/doc\n")
        self.fails("conformance/stars is not listed")
        self.write("Documentation/conformance.rst", "\n   conformance/doc\n   conformance/stars\n   conformance/more\n")
        self.fails("conformance/more is missing")
        self.write("Documentation/conformance.rst", "\nNothing\n")
        self.fails("lists no table")
        os.remove(os.path.join(self.folder.name, "Documentation/conformance.rst"))
        self.fails("No such file")

    def test_against(self):
        # A row for several rules has one word for all of them.
        self.passes("--against", "doc", self.write("doc.txt", TEXT))
        self.fails("has 4 rules in section 1, not 3", "--against", "doc",
                   self.write("doc.txt", TEXT.replace("too.", "too. It MUST.")))
        self.fails("1 #1 is SHALL in", "--against", "doc", self.write("doc.txt", TEXT.replace("MUST be", "SHALL be")))
        self.fails("3 #1 (REQUIRED) of", "--against", "doc", self.write("doc.txt", TEXT + "\n3. More\n\nREQUIRED.\n"))
        self.fails("2.1 #1 is not in", "--against", "doc", self.write("doc.txt", TEXT.split("2.1.", maxsplit=1)[0]))
        self.fails("there is no Documentation/conformance/more.rst", "--against", "more", self.write("doc.txt", TEXT))

    def test_count(self):
        self.assertIn("   1, 3\n   2.1, 1\n", self.passes("--count", self.write("doc.txt", TEXT)))


if __name__ == "__main__":
    unittest.main()
