#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check Documentation/conformance.rst and the tables in Documentation/conformance/.

  conformance.py                     check that each rule has a row, that each
                                     row has an existing test or a reason, and
                                     that each section that a comment names
  exists; print the counts
                                     conformance.py --against NAME FILE compare the rows of the document NAME
                                     with FILE, its text: the words and their
  number in each section
                                     conformance.py --count FILE        print the table of sections for FILE, the
  text of a document that has no rows yet
  conformance.py --tests             print the names of all tests
  conformance.py --counts            print the counts only

Documentation/testing.rst describes the format of rows.
"""
import argparse
import os
import re
import sys

WORDS = re.compile(r"\b(MUST NOT|MUST|SHALL NOT|SHALL|SHOULD NOT|SHOULD|REQUIRED|NOT RECOMMENDED|RECOMMENDED)\b")
STATES = ("Does not apply", "Replaced", "Not built yet")
RULE = re.compile(r"^(\S+) #(\d+)(?:-(\d+))?$")
# A rule without a capitalised word, or without a star
LETTERED = re.compile(r"^(\S+) #([a-z])$")
LETTERED_WORDS = ("(lower case)", "(implied)")
# A section named by a comment or a page, after the name of its document, and further
# sections after it; a comment may continue on the next line.
NUMBER = r"(?:\d{1,2}(?:\.\d+)*|[A-C]\.\d+)(?!\d)"
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*[*#]?[ \t]*)"
CITED = re.compile(rf"\b(WP|DR|VT|RFC[ ]\d{{4}}),?{GAP}({NUMBER}(?:(?:,|{GAP}and){GAP}{NUMBER})*)")
# In the engine, a section without a name is one of the version 2 draft.
BARE = re.compile(r"\((\d{1,2}(?:\.\d+)+)(?=[,;)])")
BARE_IN = ("net/sunrpc/xprtrdma/core", "include/rpcrdma")
CITED_IN = ("net", "include", "kunit", "scripts", "Documentation")
CITED_ENDS = (".c", ".cc", ".h", ".hh", ".sh", ".rst")


class Tests:
    """The tests that "make check" runs, as found in their sources"""

    def __init__(self, root):
        self.root = root
        self.names = set()
        # Names of GoogleTest cases with parameters -> text of their source
        self.with_params = {}
        check = self.read("scripts/check.sh")
        found = re.search(r"levels=\((\w[^)]*)\)", check)
        self.levels = found[1].split() if found else []
        for level in self.levels:
            body = re.search(rf"^level_{level}\(\)\n\{{\n(.*?)^\}}", check, re.S | re.M)
            for script in re.findall(r"guest/([\w.-]+\.sh)", body[1] if body else ""):
                self.guest(level, "scripts/guest/" + script)
        if "engine" in self.levels:
            self.engine("kunit/core")
        if "kunit" in self.levels:
            self.kunit("kunit")
        if "build" in self.levels:
            self.names.update(re.findall(r"^\t+(?:try|ok) (build/\S+)", check, re.M))
            self.names.update(re.findall(r"\|\| try (build/\S+)", check))

    def read(self, path):
        try:
            with open(os.path.join(self.root, path), encoding="utf-8") as source:
                return source.read()
        except OSError:
            return ""

    def folders(self, folder):
        try:
            names = os.listdir(os.path.join(self.root, folder))
        except OSError:
            names = []
        return sorted(n for n in names if os.path.isdir(os.path.join(self.root, folder, n)))

    def sources(self, folder, end):
        try:
            names = os.listdir(os.path.join(self.root, folder))
        except OSError:
            names = []
        for name in sorted(names):
            if name.endswith(end):
                text = self.read(f"{folder}/{name}")
                text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
                yield name, re.sub(r"//[^\n]*", "", text)

    def engine(self, folder):
        for _, text in self.sources(folder, "_test.cc"):
            whole = set(re.findall(r"^INSTANTIATE_TEST_SUITE_P\(\s*\w+,\s*(\w+)", text, re.M))
            for kind, suite, case in re.findall(r"^(TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\s*\)", text, re.M):
                name = f"engine/{suite}.{case}"
                if "DISABLED_" in name or (kind == "TEST_P" and suite not in whole):
                    continue
                self.names.add(name)
                if kind == "TEST_P":
                    self.with_params[name] = text

    def kunit(self, folder):
        for sub in self.folders(folder):
            self.kunit(f"{folder}/{sub}")
        for _, text in self.sources(folder, ".c"):
            for body in re.findall(r"struct kunit_suite \w+ = \{(.*?)\n\}", text, re.S):
                suite = re.search(r'\.name\s*=\s*"(\w+)"', body)
                cases = re.search(r"\.test_cases\s*=\s*(\w+)", body)
                if not suite or not cases:
                    continue
                array = re.search(rf"struct kunit_case {cases[1]}\[\] = \{{(.*?)\n\}}", text, re.S)
                for case in re.findall(r"KUNIT_CASE\w*\(\s*(\w+)", array[1] if array else ""):
                    self.names.add(f"kunit/{suite[1]}.{case}")

    def guest(self, level, path, seen=None):
        seen = seen if seen is not None else set()
        if path in seen:
            return
        seen.add(path)
        text = self.read(path)
        loops = {}
        for line in text.split("\n"):
            loop = re.match(r"\s*for (\w+) in (.*); do$", line)
            if loop:
                loops[loop[1]] = self.shell_words(loop[2], text)
            for name in re.findall(r"(?:^|[\s;)&|])t ([^\s\"'()]+) \d+ ", line):
                names = [f"{level}/{name}"]
                for variable, values in loops.items():
                    use = re.compile(rf"\$(?:{variable}\b|\{{{variable}\}})")
                    names = [use.sub(value, n) for n in names for value in (values if use.search(n) else [""])]
                self.names.update(n for n in names if "$" not in n)
        # A C program next to the script has a folder for each of its roles. A case of the
        # program is a result, too, if its group is a test of the script, in a loop or singly.
        groups = re.findall(r"^for group in (.*); do$", text, re.M)
        groups = set(" ".join(groups).split())
        folder = os.path.splitext(path)[0]
        for role in self.folders(folder):
            for _, cases in self.sources(f"{folder}/{role}", ".c"):
                for group, case in re.findall(r"^CASE\((\w+), (\w+)\)", cases, re.M):
                    if group in groups or f"{level}/{role}.{group}" in self.names:
                        self.names.add(f"{level}/{role}.{group}.{case}")
        for other in re.findall(r"^\s*(?:\.|source) .*?/([\w-]+\.sh)\"?$", text, re.M):
            self.guest(level, os.path.dirname(path) + "/" + other, seen)

    @staticmethod
    def shell_words(words, text):
        """Return the words of a shell list, each variable replaced by all values it is set to."""
        found = []
        for word in words.split():
            variable = re.match(r"^\$\{?(\w+)\}?$", word)
            if variable:
                for quoted, bare in re.findall(rf"\b{variable[1]}=(?:'([^']*)'|(\S+))", text):
                    found += (quoted or bare).split()
            elif "$" not in word:
                found.append(word)
        return sorted(set(found))

    def has(self, name):
        if name in self.names:
            return True
        # engine/Suite.Name/parameter: the source of the case must contain the parameter.
        case, _, parameter = name.rpartition("/")
        return case in self.with_params and f'"{parameter}"' in self.with_params[case]


def tables(text):
    """Return the list-tables of a reStructuredText file: lists of rows of cells."""
    found, table, indent = [], None, 0
    for line in text.split("\n"):
        begin = re.match(r"^(\s*)\.\. list-table::", line)
        if begin:
            table = []
            found.append(table)
            continue
        if table is None:
            continue
        cell = re.match(r"^(\s+)(\* - |  - )(.*)$", line)
        if cell and (not table or len(cell[1]) == indent):
            indent = len(cell[1])
            if cell[2] == "* - ":
                table.append([])
            if table:
                table[-1].append(cell[3].strip())
        elif re.match(r"^\s+-$|^\s+\* -$", line) and table:
            if "*" in line:
                table.append([])
            table[-1].append("")
        elif line.strip() and not line.startswith(" "):
            table = None
        elif line.strip() and table and table[-1] and not re.match(r"^\s+:", line):
            table[-1][-1] += " " + line.strip()
    return found


def flat(text, rfc=True):
    """Return a document's text without page breaks."""
    if rfc:
        text = re.sub(r"\n[^\n]*\[Page \d+\]\n+\f?\n*[^\n]*\n", "\n", text)
    return text.replace("\f", "\n")


def words_of(text):
    """Return [(section, [word, ...])] in the order of the text."""
    heading = re.compile(r"^(?:Appendix ([A-Z])|([A-Z](?:\.\d+)+|\d+(?:\.\d+)*))\.\s+\S")
    order, found = [], {}
    section, block = "0", []

    def end():
        words = WORDS.findall(" ".join(block))
        if words:
            if section not in found:
                order.append(section)
            found.setdefault(section, []).extend(words)
        block.clear()

    for line in flat(text).split("\n"):
        bare = re.sub(r"</?u>|[*#]", "", line)
        bare = re.sub(r"\s+\.", ".", bare.rstrip())
        begin = heading.match(bare.strip() if line.lstrip().startswith("<u>") or line.startswith("#") else bare)
        if begin and len(bare) < 90:
            end()
            section = begin[1] or begin[2]
        block.append(" ".join(bare.split()))
    end()
    return [(section, found[section]) for section in order]


def stars_of(text):
    """Return [(section, [star, ...])] of a page of this project, where a star marks a rule."""
    order, found, section = [], {}, "0"
    lines = text.split("\n")
    for line, below in zip(lines, lines[1:] + [""]):
        heading = re.match(r"^(\d+)\. \S", line)
        if heading and re.match(r"^=+$", below):
            section = heading[1]
        for _ in re.findall(r"\\\*", line):
            if section not in found:
                order.append(section)
            found.setdefault(section, []).append("\\*")
    return [(section, found[section]) for section in order]


def starless_of(text):
    """Return {section: number of items, paragraphs and tables without a star} of such a page."""
    found, section = {}, "0"
    for block in re.split(r"\n(?:[ \t]*\n)+", text):
        lines = block.strip("\n").split("\n")
        if len(lines) > 1 and re.match(r"^=+$", lines[1]):
            heading = re.match(r"^(\d+)\. \S", lines[0])
            section = heading[1] if heading else section
            continue
        items = [block]
        if lines[0].startswith("* "):
            items = re.split(r"\n(?=\* )", block)
        elif re.match(r"^$|[ \t]|\.\. |:", lines[0]):
            continue
        if section != "0":
            found[section] = found.get(section, 0) + sum("\\*" not in item for item in items)
    return found


class Document:
    """The rules of a document: a page in Documentation/conformance"""

    def __init__(self, path, text):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.errors = []
        self.sections = {}
        self.rules = {}
        self.lettered = {}
        self.states = {state: 0 for state in ("shown",) + STATES}
        self.tests = []
        counted = re.search(r"^:Counted in: (\S+)$", text, re.M)
        self.counted_in = counted[1] if counted else None
        cited = re.search(r"^:Cited as: (.+)$", text, re.M)
        self.cited_as = cited[1] if cited else None
        listed = re.search(r"^:Sections: (.*(?:\n[ \t]+.*)*)$", text, re.M)
        self.listed = set(listed[1].split()) if listed else set()
        for table in re.findall(r"^\.\. csv-table::[^\n]*\n((?:[ \t][^\n]*\n|\n)+)", text + "\n", re.M):
            for row in re.findall(r"^\s+([^:\s].*)$", table, re.M):
                self.add_section([cell.strip() for cell in row.split(",")])
        for table in tables(text):
            if table and table[0][0] == "Rule":
                for row in table[1:]:
                    self.add_rule(row)
        self.complete()

    def error(self, what):
        self.errors.append(f"{self.path}: {what}")

    def add_section(self, row):
        if len(row) != 2 or not row[1].isdigit():
            self.error(f"a row of the sections is not a section and a number: {row}")
        elif row[0] in self.sections:
            self.error(f"section {row[0]} is listed twice")
        else:
            self.sections[row[0]] = int(row[1])

    def add_lettered(self, row, section, letter):
        """Add a rule with a letter, which has no capitalised word in the text."""
        if row[1] not in LETTERED_WORDS:
            self.error(f"{row[0]}: its word is none of {', '.join(LETTERED_WORDS)}")
        if not row[2]:
            self.error(f"{row[0]} does not say what it asks")
        if letter != chr(ord("a") + self.lettered.get(section, 0)):
            self.error(f"{row[0]} is not the next letter of its section")
        self.lettered[section] = self.lettered.get(section, 0) + 1
        self.judge(row[0], row[3], 1)

    def add_rule(self, row):
        lettered = LETTERED.match(row[0]) if len(row) == 4 else None
        if lettered:
            self.add_lettered(row, lettered[1], lettered[2])
            return
        rule = RULE.match(row[0]) if row else None
        if len(row) != 4 or not rule:
            self.error(f"not a row of four cells that begins with SECTION #NUMBER: {row}")
            return
        first, last = int(rule[2]), int(rule[3] or rule[2])
        if last < first:
            self.error(f"{row[0]}: the range is empty")
        for number in range(first, last + 1):
            if (rule[1], number) in self.rules:
                self.error(f"{rule[1]} #{number} has two rows")
            self.rules[(rule[1], number)] = row[1]
        if not row[1] or not row[2]:
            self.error(f"{row[0]} does not say what it asks")
        self.judge(row[0], row[3], last - first + 1)

    def judge(self, name, cell, count):
        quoted = re.findall(r"``([^`]+)``", cell)
        state = next((state for state in STATES if cell.startswith(state)), "shown")
        self.states[state] += count
        self.tests += [(name, test) for test in quoted]
        if state == "shown":
            if not quoted:
                self.error(f"{name} has neither a test nor a reason")
            # If one test shows several rules, each of their rows names it.
            if count > 1:
                self.error(f"{name}: only what does not apply may have a row together")
            return
        reason = re.sub(r"``[^`]+``[,.; ]*", "", cell[len(state):]).lstrip(": ")
        if not cell.startswith(state + ": ") or len(reason.split()) < 3:
            self.error(f'{name} is "{state}" and gives no reason')
        if state == "Replaced" and not quoted:
            self.error(f"{name} is replaced, and no test shows by what")
        if state == "Does not apply" and quoted:
            self.error(f"{name} does not apply and has a test")
        if state != "Does not apply" and count > 1:
            self.error(f"{name}: only what does not apply may have a row together")

    def complete(self):
        """Check that each rule has a row, and each row a rule."""
        if not self.sections and not self.counted_in:
            self.error("there is no table of sections")
        if not self.rules:
            self.error("there is no rule")
        for section, count in self.sections.items():
            for number in range(1, count + 1):
                if (section, number) not in self.rules:
                    self.error(f"{section} #{number} has no row")
        for section, number in self.rules:
            if not self.counted_in and not 1 <= number <= self.sections.get(section, 0):
                self.error(f"{section} #{number} is not in the table of sections")

    def against(self, words, source):
        """Compare the rows with the words of the document's text."""
        for section, expected in words:
            rows = [self.rules.get((section, number)) for number in range(1, len(expected) + 1)]
            if self.sections.get(section, len(expected)) != len(expected):
                self.error(f"{source} has {len(expected)} rules in section {section}, not {self.sections[section]}")
            for number, (word, row) in enumerate(zip(expected, rows), 1):
                if row is None:
                    self.error(f"{section} #{number} ({word}) of {source} has no row")
                elif row not in (word, "(the words)"):
                    self.error(f"{section} #{number} is {word} in {source}, not {row}")
        there = {section: len(expected) for section, expected in words}
        for section, number in self.rules:
            if number > there.get(section, 0):
                self.error(f"{section} #{number} is not in {source}")

    def against_starless(self, items, source):
        """Check that each item, paragraph and table without a star is a rule with a letter."""
        for section in sorted(set(items) | set(self.lettered)):
            there, rows = items.get(section, 0), self.lettered.get(section, 0)
            if there != rows:
                self.error(f"{source} has {there} list items, paragraphs and tables without a star in section "
                           f"{section}, and {rows} rows")


def known_sections(document, page):
    """Return the sections that can be cited: listed ones, those of rules, and their parents."""
    found = set(document.listed) | {section for section, _ in document.rules} | set(document.lettered)
    found |= set(re.findall(r"^(\d+)\. .*\n=+$", page, re.M))
    for section in list(found):
        while "." in section:
            section = section.rpartition(".")[0]
            found.add(section)
    return found


def citations(root, documents, pages):
    """Return an error for each section that a comment or page names and that does not exist."""
    known = {document.cited_as: known_sections(document, pages.get(document.name, ""))
             for document in documents if document.cited_as}
    errors = []
    for top in CITED_IN:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if not name.endswith(CITED_ENDS):
                    continue
                path = os.path.relpath(os.path.join(folder, name), root)
                with open(os.path.join(root, path), encoding="utf-8", errors="replace") as source:
                    text = source.read()
                found = [(m.start(), m[1], number) for m in CITED.finditer(text)
                         for number in re.findall(NUMBER, m[2])]
                if path.startswith(BARE_IN):
                    found += [(m.start(), "VT", m[1]) for m in BARE.finditer(text)]
                errors += [f"{path}:{text.count(chr(10), 0, at) + 1}: {cited} has no section {number}"
                           for at, cited, number in found if cited in known and number not in known[cited]]
    return errors


def read_documents(root):
    """Return ([Document], [error])."""
    folder = os.path.join(root, "Documentation", "conformance")
    errors, documents = [], []
    try:
        with open(folder + ".rst", encoding="utf-8") as page:
            index = page.read()
    except OSError as error:
        return [], [str(error)]
    listed = re.findall(r"^\s+conformance/(\S+)$", index, re.M)
    there = sorted(name[:-4] for name in os.listdir(folder) if name.endswith(".rst")) if os.path.isdir(folder) else []
    if not listed:
        errors.append("Documentation/conformance.rst lists no table")
    for name in sorted(set(there) ^ set(listed)):
        what = "not listed in Documentation/conformance.rst" if name in there else "missing"
        errors.append(f"conformance/{name} is {what}")
    for name in listed:
        if name in there:
            with open(os.path.join(folder, name + ".rst"), encoding="utf-8") as page:
                documents.append(Document(f"Documentation/conformance/{name}.rst", page.read()))
    return documents, errors


def check(root):
    tests = Tests(root)
    documents, errors = read_documents(root)
    pages = {}
    for document in documents:
        if document.counted_in:
            page = pages[document.name] = tests.read(document.counted_in)
            document.against(stars_of(page), document.counted_in)
            document.against_starless(starless_of(page), document.counted_in)
        for rule, test in document.tests:
            if not tests.has(test):
                document.error(f"{rule}: make check runs no test {test}")
        errors += document.errors
    return documents, errors + citations(root, documents, pages)


def summary(documents):
    line = "{:24} {:>6} {:>6} {:>9} {:>15} {:>14}"
    print(line.format("", "rules", "tested", "replaced", "do not apply", "not built yet"))
    total = [0] * 5
    for document in documents:
        states = document.states
        counts = [sum(states.values())]
        counts += [states[state] for state in ("shown", "Replaced", "Does not apply", "Not built yet")]
        total = [a + b for a, b in zip(total, counts)]
        print(line.format(document.name, *counts))
    print(line.format("all", *total))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                        help="the checkout")
    parser.add_argument("--against", nargs=2, metavar=("NAME", "FILE"))
    parser.add_argument("--count", metavar="FILE")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--counts", action="store_true")
    options = parser.parse_args()

    if options.tests:
        tests = Tests(options.root)
        print("\n".join(sorted(tests.names)))
        return 0
    if options.count:
        with open(options.count, encoding="utf-8", errors="replace") as text:
            words = words_of(text.read())
        print(".. csv-table::\n   :header: Section, Rules\n")
        for section, found in words:
            print(f"   {section}, {len(found)}")
        return 0

    documents, errors = check(options.root)
    if options.counts:
        summary(documents)
        return 0
    if options.against:
        name, path = options.against
        found = [document for document in documents if document.name == name]
        if not found:
            errors.append(f"there is no Documentation/conformance/{name}.rst")
        for document in found:
            document.errors = []
            with open(path, encoding="utf-8", errors="replace") as text:
                document.against(words_of(text.read()), path)
            errors += document.errors
    summary(documents)
    for error in errors:
        print(error)
    if errors:
        print(f"{len(errors)} complaints, the first: {errors[0]}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
