#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Break the engine rule by rule, and check that the tests of the rule fail.

  mutants.py                 for each mutation: build the engine with it and run the
                             engine tests that the row of its rule names. Fail if they
                             all pass. Behaviour without a rule in a document has the
                             tests of a suite instead.
  mutants.py NAME ...        the mutations of a document or of a rule ("version-two",
                             "version-two:7.1.2 #1"), of all suites ("suites"), of one
                             ("suites:MrPool"), or a single one ("suites:MrPool #1")
  mutants.py --check         build nothing. Check that each mutation still applies, and
                             that each rule with an engine test has a mutation or a
                             reason.
  mutants.py --simulation [NAME ...]
                             reintroduce former defects, or the named ones ("P1",
                             "T2 #1"), into the engine or into the simulation's model
                             of its environment. Print the seed that detects each, and
                             fail if none of the fixed seeds does.

Documentation/conformance/mutants has the mutations, a file for each table:

  4.2.1.2 #1, 4.2.3 #1                 the rules that it breaks
    conn/receive.cc                    a file of the core
    - received) > 1                    occurs there exactly once, regardless of spaces
    + received) > 2                    the replacement

  5.1 #2: in a header                  or why a rule has none

A mutation can have several files and several pairs of lines. A rule that is implemented in
several places can have several mutations. kunit/core/mutants.txt has the same format, with
suites of the tests in place of sections. kunit/simulation/mutants.txt has defects in place
of rules. A file outside the core has its path in the checkout: include/rpcrdma/..., or, in
the simulation's table, kunit/simulation/... Because all mutations take about ten minutes,
"make check" only runs --check.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import time

from conformance import read_documents

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORE = "net/sunrpc/xprtrdma/core"
TESTS = "kunit/core"
# The folder of tests of the endpoint in TESTS
ENDPOINT = "endpoint"
FOLDER = "Documentation/conformance/mutants"
SIMULATION = "kunit/simulation"
DEFECTS = f"{SIMULATION}/mutants.txt"
SUITES = "suites"
# The headers of the core, with the functions that are compiled inline
INCLUDE = "include"
RULE = re.compile(r"\S+ #(\d+|[a-z])")
# Time limit of the tests; a test that exceeds it has detected the mutation.
SECONDS = 120
SIMULATION_SECONDS = 900
# Clients of one server, and seeds, as in the simulation's Makefile
CROWDS = (("1000", "1-5"), ("10000", "6-6"))


class Mutation:
    """The changes of files, and the rules that they break"""

    def __init__(self, document, rules, reason, where):
        self.document = document
        self.rules = rules
        self.reason = reason
        self.where = where
        self.changes = []  # [file, old, new]

    def name(self):
        return f"{self.document}:{', '.join(self.rules)}"


def place(source):
    """Return the path in the checkout of a file named by a table."""
    return source if source.startswith((f"{INCLUDE}/", f"{SIMULATION}/")) else f"{CORE}/{source or '?'}"


def read_table(root, path):
    """Return ([Mutation], [error]) of one file."""
    found, errors, source = [], [], None
    document = os.path.splitext(os.path.basename(path))[0]
    with open(os.path.join(root, path), encoding="utf-8") as text:
        lines = text.read().split("\n")
    for number, line in enumerate(lines, 1):
        where, bare = f"{path}:{number}", line.strip()
        if not bare or line.startswith("#"):
            continue
        if not line.startswith(" "):
            rules, _, reason = bare.partition(": ")
            found.append(Mutation(document, rules.split(", "), reason, where))
            for rule in found[-1].rules:
                if not RULE.fullmatch(rule):
                    errors.append(f"{where}: not SECTION #NUMBER: {rule}")
        elif not found or found[-1].reason:
            errors.append(f"{where}: belongs to no rule")
        elif bare.startswith("- "):
            found[-1].changes.append([source, bare[2:], None])
        elif bare.startswith("+"):
            changes = found[-1].changes
            if not changes or changes[-1][2] is not None:
                errors.append(f"{where}: a + without its -")
            else:
                changes[-1][2] = bare[1:].strip()
        else:
            source = bare
    return found, errors


def read_suites(root):
    """Return ([Mutation], [error]) of the suites."""
    if not os.path.exists(os.path.join(root, TESTS, "mutants.txt")):
        return [], []
    found, errors = read_table(root, f"{TESTS}/mutants.txt")
    for mutation in found:
        mutation.document = SUITES
    return found, errors


def suite_of(rule):
    return rule.split(" ")[0]


def suite_sources(root, suite):
    """Return the files with tests of a suite."""
    has = re.compile(rf"^(TEST|TEST_F|INSTANTIATE_TEST_SUITE_P)\({suite},", re.M)
    found = []
    for folder in ("", ENDPOINT):
        for name in sorted(os.listdir(os.path.join(root, TESTS, folder))):
            if name.endswith(".cc"):
                with open(os.path.join(root, TESTS, folder, name), encoding="utf-8") as text:
                    if has.search(text.read()):
                        found.append(os.path.join(folder, name))
    return found


def needs_endpoint(root, mutation):
    """Return whether the tests of a mutation are those of the endpoint, which have a host."""
    return mutation.document == SUITES and any(
        name.startswith(f"{ENDPOINT}/") for rule in mutation.rules for name in suite_sources(root, suite_of(rule)))


def read_mutations(root):
    """Return ([Mutation], [error]) of the rules."""
    found, errors = [], []
    folder = os.path.join(root, FOLDER)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if not name.endswith(".txt"):
            continue
        table = read_table(root, f"{FOLDER}/{name}")
        found += table[0]
        errors += table[1]
    return found, errors


def read_defects(root):
    """Return ([Mutation], [error]) of the simulation."""
    if not os.path.exists(os.path.join(root, DEFECTS)):
        return [], []
    return read_table(root, DEFECTS)


def pattern(old):
    """Return an expression that finds old with any line breaks of the formatter."""
    return re.compile(r"\s+".join(re.escape(word) for word in old.split()))


def mutated(root, mutation):
    """Return ({file: text}, [error]): the files with the mutation applied."""
    texts, errors = {}, []
    for source, old, new in mutation.changes:
        try:
            if source not in texts:
                with open(os.path.join(root, place(source or "")), encoding="utf-8") as text:
                    texts[source] = text.read()
        except OSError as error:
            errors.append(f"{mutation.where}: {error}")
            continue
        there = pattern(old).findall(texts[source])
        if len(there) != 1 or new is None:
            errors.append(f"{mutation.where}: {source} has {len(there)} times: {old}")
        else:
            texts[source] = pattern(old).sub(lambda _, new=new: new, texts[source])
    return texts, errors


def engine_tests(root, mutations):
    """Return ({document: {rule: [names of engine tests]}}, [error])."""
    documents, errors = read_documents(root)
    tests = {}
    for document in documents:
        rules = tests.setdefault(document.name, {})
        for rule, name in document.tests:
            if name.startswith("engine/"):
                rules.setdefault(rule, []).append(name[len("engine/"):])
    tests[SUITES] = {}
    for mutation in mutations:
        if mutation.document == SUITES:
            for rule in mutation.rules:
                suite = suite_of(rule)
                tests[SUITES][rule] = [f"{suite}.*", f"{suite}/*"]
                if not suite_sources(root, suite):
                    errors.append(f"{mutation.where}: no engine tests have a suite {suite}")
    return tests, errors


def check(root, mutations):
    tests, errors = engine_tests(root, mutations)
    done, changes = set(), set()
    for mutation in mutations:
        for rule in mutation.rules:
            if rule not in tests.get(mutation.document, {}):
                errors.append(f"{mutation.where}: no row of {mutation.document} with an engine test: {rule}")
            if (mutation.document, rule, str(mutation.changes)) in changes:
                errors.append(f"{mutation.where}: {rule} again")
            changes.add((mutation.document, rule, str(mutation.changes)))
            done.add((mutation.document, rule))
        if not mutation.changes and not mutation.reason:
            errors.append(f"{mutation.where}: {mutation.name()} changes nothing")
        errors += mutated(root, mutation)[1]
    for document, rules in tests.items():
        for rule in rules:
            if (document, rule) not in done:
                errors.append(f"{FOLDER}/{document}.txt: {rule} has no mutation, and no reason")
    return errors


def gtest_filter(names, listed):
    """Return GoogleTest's filter for names in rows. A parameter is a suffix in the filter."""
    found = []
    for name in names:
        case, _, parameter = name.rpartition("/")
        if case:
            found.append(f"*/{case}/{parameter}" if f"{case}/" in listed else name)
        else:
            found.append(f"*/{name}/*" if f"{name}/" in listed else name)
    return ":".join(found)


def write(folder, texts):
    """Write the files {name: text} to the folder."""
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as source:
            source.write(text)


class Build:
    """
    The engine as a shared library, which is rebuilt for each mutation, and the engine
    tests as "make check" compiles them, which need not be linked again.
    """

    def __init__(self, root):
        self.root = root
        top = self.make("-s", "build-dir", capture_output=True).stdout.strip()
        self.folder = os.path.join(top, "mutants")
        self.copy = os.path.join(self.folder, "core")
        self.program = os.path.join(self.folder, "engine_test")
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(os.path.join(root, CORE), self.copy)
        # The endpoint needs a host, which the engine tests do not have.
        self.parts = sorted(os.path.relpath(path, self.copy)[:-3]
                            for path in glob.glob(os.path.join(glob.escape(self.copy), "*", "*.cc"))
                            if os.path.basename(os.path.dirname(path)) != "endpoint")
        complaint = self.library(self.parts, mutation=False)
        if complaint:
            raise ValueError(complaint)
        self.make("-s", os.path.join(self.folder, "engine_test"))
        listing = subprocess.run([self.program, "--gtest_list_tests"], capture_output=True, text=True, check=True)
        # The listing has "All/Suite." with lines "Case/parameter" below it.
        self.listed, suite = set(), ""
        for line in listing.stdout.split("\n"):
            if line and not line.startswith(" "):
                suite = line.split()[0].rpartition("/")[2]
            elif "/" in line:
                self.listed.add(suite + line.split()[0].partition("/")[0] + "/")

    def make(self, *what, **options):
        return subprocess.run(["make", "--no-print-directory", "-C", os.path.join(self.root, TESTS), *what],
                              text=True, check=True, **options)

    def library(self, parts, mutation=True):
        """None if it was built, or what the compiler said"""
        flags = ["-std=c++20", "-ffreestanding", "-nostdinc++", "-fno-exceptions", "-fno-rtti", "-O0", "-fPIC", "-w",
                 f"-I{os.path.join(self.root, 'include')}"]
        # Files that the mutation does not change are linked as first built.
        objects = {part: os.path.join(self.copy, part + ".o") for part in self.parts}
        for part in parts:
            if mutation:
                objects[part] = os.path.join(self.copy, part + ".mutated.o")
            built = subprocess.run(["g++", *flags, "-c", "-o", objects[part], os.path.join(self.copy, part + ".cc")],
                                   capture_output=True, text=True, check=False)
            if built.returncode:
                return built.stderr
        built = subprocess.run(["g++", "-shared", "-nostdlib", "-o", os.path.join(self.folder, "libengine.so"),
                                *objects.values()], capture_output=True, text=True, check=False)
        return built.stderr if built.returncode else None

    def parts_of(self, texts):
        """Return the files to compile again if these files change."""
        if any(name.endswith((".h", ".hh")) for name in texts):
            return self.parts
        return [name[:-3] for name in texts]

    def with_header(self, texts, suite):
        """Build a separate program of a suite's tests, which include the changed header, too."""
        shutil.rmtree(os.path.join(self.folder, "include"), ignore_errors=True)
        shutil.copytree(os.path.join(self.root, "include"), os.path.join(self.folder, "include"))
        write(self.folder, texts)
        tests = os.path.join(self.root, TESTS)
        program = os.path.join(self.folder, "header_test")
        sources = [os.path.join(tests, name) for name in suite_sources(self.root, suite) + ["support.cc", "sim.cc"]]
        built = subprocess.run(["g++", "-std=c++20", "-O0", "-w", f"-I{os.path.join(self.folder, 'include')}", f"-I{tests}",
                                "-o", program, os.path.join(self.root, CORE, "core.cc"), *sources,
                                "-lgtest", "-lgtest_main", "-lpthread"], capture_output=True, text=True, check=False)
        return built.stderr if built.returncode else None, program

    def with_endpoint(self, texts):
        """Build a separate program of the endpoint's tests, with a copy of the core and its headers."""
        tree = os.path.join(self.folder, "endpoint")
        shutil.rmtree(tree, ignore_errors=True)
        for part in (INCLUDE, CORE, TESTS):
            shutil.copytree(os.path.join(self.root, part), os.path.join(tree, part))
        write(tree, {place(name): text for name, text in texts.items()})
        core, tests = os.path.join(tree, CORE), os.path.join(tree, TESTS)
        program = os.path.join(tree, "endpoint_test")
        built = subprocess.run(["g++", "-std=c++20", "-O0", "-w", "-no-pie", f"-I{os.path.join(tree, INCLUDE)}",
                                f"-I{tests}", f"-I{core}", "-Wl,--unresolved-symbols=ignore-in-object-files",
                                "-o", program, os.path.join(core, "endpoint.cc"),
                                *sorted(glob.glob(os.path.join(glob.escape(tests), ENDPOINT, "*_test.cc"))),
                                "-lgtest", "-lgtest_main", "-lpthread"], capture_output=True, text=True, check=False)
        return built.stderr if built.returncode else None, program

    def run(self, names, program=None):
        """Return whether one of these tests fails."""
        try:
            done = subprocess.run([program or self.program, "--gtest_brief=1", "--gtest_fail_fast",
                                   "--gtest_filter=" + gtest_filter(names, self.listed)],
                                  capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return True
        if not done.returncode and "[  PASSED  ] 0 tests" in done.stdout:
            raise ValueError(f"no such tests: {gtest_filter(names, self.listed)}")
        return done.returncode != 0

    def restore(self, texts):
        for name in texts:
            shutil.copy(os.path.join(self.root, place(name)), os.path.join(self.copy, name))


def try_all(root, mutations):
    """Return the number of mutations that no test detects."""
    tests, _ = engine_tests(root, mutations)
    build, bad, count, start = Build(root), 0, 0, time.time()
    for mutation in mutations:
        texts, errors = mutated(root, mutation)
        if mutation.reason or errors:
            continue
        program = None
        if needs_endpoint(root, mutation):
            complaint, program = build.with_endpoint(texts)
            texts = {}
        elif any(name.startswith(f"{INCLUDE}/") for name in texts):
            complaint, program = build.with_header(texts, suite_of(mutation.rules[0]))
            texts = {}
        else:
            write(build.copy, texts)
            complaint = build.library(build.parts_of(texts))
        for rule in mutation.rules:
            count += 1
            if complaint:
                verdict = "does not build: " + complaint.split("\n")[0]
            elif build.run(tests[mutation.document][rule], program):
                continue
            else:
                verdict = "survives " + ", ".join(tests[mutation.document][rule])
            bad += 1
            print(f"{mutation.where}: {mutation.document} {rule}: {verdict}", flush=True)
        build.restore(texts)
    print(f"{count} rules broken, {count - bad} detected, {bad} not, {time.time() - start:.0f} s")
    return bad


class Simulation:
    """The simulation and the engine; make rebuilds their changed files."""

    def __init__(self, root):
        self.root = root
        self.folder = os.path.join(self.ask("build-dir"), "mutants")
        # Seeds that have failed in the past
        self.failed_seeds = self.ask("failed-seeds").split()
        self.copy = os.path.join(self.folder, "tree")
        self.objects = os.path.join(self.folder, "build", "fast")
        self.program = os.path.join(self.folder, "build", "simulate")
        # Exists while the objects may be those of a mutation
        self.mark = os.path.join(self.folder, "mutated")
        if os.path.exists(self.mark):
            # An earlier run was killed. Its objects are newer than the sources.
            shutil.rmtree(os.path.join(self.folder, "build"), ignore_errors=True)
            os.remove(self.mark)
        shutil.rmtree(self.copy, ignore_errors=True)
        for part in (INCLUDE, CORE, TESTS, SIMULATION):
            # Keep modification times, so that make does not rebuild unchanged files.
            shutil.copytree(os.path.join(root, part), os.path.join(self.copy, part))
        complaint = self.build()
        if complaint:
            raise ValueError(complaint)
        self.good = self.folder + "/good"
        shutil.rmtree(self.good, ignore_errors=True)
        shutil.copytree(self.objects, self.good)

    def ask(self, what):
        """Return the output of the Makefile for this target."""
        return subprocess.run(["make", "--no-print-directory", "-s", "-C", os.path.join(self.root, SIMULATION), what],
                              capture_output=True, text=True, check=True).stdout.strip()

    def build(self):
        """None if it was built, or what the compiler said"""
        built = subprocess.run(["make", "--no-print-directory", "-s", "-C", os.path.join(self.copy, SIMULATION),
                                f"BUILD_DIR={self.folder}/build", "OPTIMISE=-O0",
                                self.program],
                               capture_output=True, text=True, check=False)
        return built.stderr if built.returncode else None

    def mutate(self, texts):
        with open(self.mark, "w", encoding="utf-8"):
            pass
        write(self.copy, {place(name): text for name, text in texts.items()})

    def restore(self, texts):
        for name in texts:
            shutil.copy2(os.path.join(self.root, place(name)), os.path.join(self.copy, place(name)))
        # The copies are newer than their sources, so that make does not rebuild them.
        for name in os.listdir(self.good):
            shutil.copy(os.path.join(self.good, name), os.path.join(self.objects, name))
        os.remove(self.mark)

    def run(self, *runs):
        """Return (seed, complaint) of the first run that fails, or None."""
        try:
            done = subprocess.run([self.program, "-n", *runs], capture_output=True, text=True, errors="replace",
                                  check=False, timeout=SIMULATION_SECONDS)
        except subprocess.TimeoutExpired:
            return "?", "a run does not end"
        if not done.returncode:
            return None
        found = re.search(r"# seed (\d+): (.*)", done.stdout)
        return found.groups() if found else ("?", f"status {done.returncode}")


def try_simulation(root, mutations, seeds):
    """Return the number of defects that no seed detects."""
    simulation, bad, count, start = Simulation(root), 0, 0, time.time()
    for mutation in mutations:
        texts, errors = mutated(root, mutation)
        if mutation.reason or errors:
            continue
        count += 1
        simulation.mutate(texts)
        complaint = simulation.build()
        found = None if complaint else simulation.run(seeds)
        for seed in () if complaint else simulation.failed_seeds:
            found = found or simulation.run(f"{seed}-{seed}")
        crowd = None
        for clients, some in () if complaint or found else CROWDS:
            crowd = crowd or simulation.run("-c", clients, some)
        simulation.restore(texts)
        if found or crowd:
            where, (seed, what) = ("", found) if found else ("a crowd, ", crowd)
            print(f"{', '.join(mutation.rules)}: {where}seed {seed}: {what}", flush=True)
            continue
        bad += 1
        verdict = "does not build: " + complaint.split("\n")[0] if complaint else f"survives the seeds {seeds}"
        print(f"{mutation.where}: {', '.join(mutation.rules)}: {verdict}", flush=True)
    print(f"{count} defects reintroduced, {count - bad} detected, {bad} not, {time.time() - start:.0f} s")
    return bad


def check_defects(root, mutations):
    errors, done = [], set()
    for mutation in mutations:
        for defect in mutation.rules:
            if defect in done:
                errors.append(f"{mutation.where}: {defect} again")
            done.add(defect)
        if not mutation.changes and not mutation.reason:
            errors.append(f"{mutation.where}: {mutation.name()} changes nothing")
        errors += mutated(root, mutation)[1]
    return errors


def families(mutation):
    """Return the first words of a mutation's rules: "T2" of "T2 #1"."""
    return {rule.split(" ")[0] for rule in mutation.rules}


def named(mutations, names, names_of):
    """Return the mutations with one of the names; all if names is empty. Exit on unknown names."""
    if not names:
        return mutations
    unknown = set(names) - {name for m in mutations for name in names_of(m)}
    if unknown:
        sys.exit("nothing is called " + ", ".join(sorted(unknown)))
    return [m for m in mutations if names_of(m) & set(names)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT, help="the checkout")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--simulation", action="store_true")
    parser.add_argument("--seeds", default="1-3000", help="of the simulation")
    parser.add_argument("name", nargs="*")
    options = parser.parse_args()

    mutations, errors = read_mutations(options.root)
    suites, more = read_suites(options.root)
    mutations += suites
    errors += more + check(options.root, mutations)
    defects, more = read_defects(options.root)
    errors += more + check_defects(options.root, defects)
    for error in errors:
        print(error)
    if options.check:
        print(f"{sum(len(m.rules) for m in mutations if m.changes and m.document != SUITES)} rules have a mutation, "
              f"{sum(len(m.rules) for m in mutations if m.reason)} have a reason for none; "
              f"{sum(len(m.rules) for m in suites)} mutations break behaviour without a rule; "
              f"{sum(len(m.rules) for m in defects if m.changes)} defects have a mutation in the simulation, "
              f"{sum(len(m.rules) for m in defects if m.reason)} have a reason for none")
        return 1 if errors else 0
    if options.simulation:
        defects = named(defects, options.name, lambda m: {*m.rules, *families(m)})
        return 1 if try_simulation(options.root, defects, options.seeds) else 0
    mutations = named(mutations, options.name,
                      lambda m: {m.document, *(f"{m.document}:{rule}" for rule in {*m.rules, *families(m)})})
    return 1 if try_all(options.root, mutations) else 0


if __name__ == "__main__":
    sys.exit(main())
