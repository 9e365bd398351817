#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Report the cost of file operations, from the files of a run of scripts/cost.sh.

  report.py [--check] [--update] [--short] RUN KIND...
                                               the table, with a column for each kind
  report.py [--update] --grid RUN KIND...      the rows of the grid, relative to the
                                               in-tree module if it was measured; the
                                               heat map, in RUN or with --update in the
                                               documentation
  report.py --top N --row ROW RUN KIND         the functions with the highest cost in a row
  report.py --against KIND --row ROW RUN KIND  the functions that differ between two kinds

RUN/KIND has the files kallsyms; work, with a line "WORK NAME COUNT" for each dump and
optional lines "ALSO NAME QUANTITY NUMBER"; the dumps insns.0, insns.1 and so on; and
optionally idle (KiB for each idle connection).
"""
import argparse
import bisect
import collections
import json
import os
import sys

import heat

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "..", "..", "Documentation", "performance")
# A row may exceed its committed figure by the first factor. A row with several concurrent
# operations may exceed it by the second, because their overlap and the contiguity of their
# pages vary.
TOLERANCE = 1.02
TOLERANCE_AT_DEPTH = 1.04

NAMES = {"own": "in-tree", "v1": "version 1", "v2": "version 2", "tcp": "TCP"}

# Counted for each operation: instructions of these modules, or entries of these functions.
INSTRUCTIONS = {
    "all": None,
    "rpcrdma": {"rpcrdma"},
    "rpcrdma+sunrpc+ib_core": {"rpcrdma", "sunrpc", "ib_core"},
}
ENTRIES = {
    "schedules": {"__schedule"},
    "posts": {"rxe_post_send", "rxe_post_recv", "memdev_post_send", "memdev_post_recv"},
    "CQ arms": {"rxe_req_notify_cq", "memdev_req_notify_cq"},
    "CQEs": {"rxe_cq_post", "memdev_complete"},
}
# Figures that are equal in all runs, even short ones. The others depend on concurrent activity.
STEADY = ("rpcrdma", "posts")
# The maximum cost of each of these, relative to the in-tree module
GOALS = {"rpcrdma": 1.0, "rpcrdma+sunrpc+ib_core": 0.85, "all": 0.9}
COUNTS = ("schedules", "posts", "CQ arms", "CQEs")
# Increases up to these are noise, and are not reported.
LEAST = {"schedules": 0.3, "posts": 0.1, "CQ arms": 0.1, "CQEs": 0.1}


class Run:
    """The dumps of one guest."""

    def __init__(self, folder):
        self.folder = folder
        symbols = []
        with open(os.path.join(folder, "kallsyms"), encoding="ascii", errors="replace") as f:
            for line in f:
                word = line.split()
                module = word[3].strip("[]") if len(word) > 3 else "kernel"
                symbols.append((int(word[0], 16), word[2], module))
        symbols.sort()
        self.symbols = symbols
        self.addresses = [s[0] for s in symbols]
        with open(os.path.join(folder, "work"), encoding="ascii") as f:
            words = [line.split() for line in f if line.strip()]
        work = [line for line in words if line[0] == "WORK"]
        self.rows = {name: (i, int(count)) for i, (_, name, count) in enumerate(work)}
        self.also = [(name, what, float(number)) for _, name, what, number in (w for w in words if w[0] == "ALSO")]
        self.idle = None
        path = os.path.join(folder, "idle")
        if os.path.exists(path):
            with open(path, encoding="ascii") as f:
                self.idle = int(f.read())

    def functions(self, row):
        """Return instructions by (module, function) and entries by function, per operation."""
        dump, operations = self.rows[row]
        cost, entries = collections.Counter(), collections.Counter()
        with open(os.path.join(self.folder, f"insns.{dump}"), encoding="ascii") as f:
            for line in f:
                address, insns, count = line.split()
                address, executed = int(address, 16), int(count)
                if address >> 47 == 0:
                    cost["user space", "user space"] += int(insns) * executed / operations
                    continue
                i = bisect.bisect_right(self.addresses, address) - 1
                start, name, module = self.symbols[i] if i >= 0 else (0, "?", "kernel")
                cost[module, name] += int(insns) * executed / operations
                if address == start:
                    entries[name.split(".")[0]] += executed / operations
        return cost, entries

    def figures(self):
        """Return {row: {quantity: number}}."""
        all_rows = {}
        for row in self.rows:
            cost, entries = self.functions(row)
            figures = {
                what: sum(c for (module, _), c in cost.items() if modules is None or module in modules)
                for what, modules in INSTRUCTIONS.items()
            }
            figures.update({what: sum(entries[f] for f in functions) for what, functions in ENTRIES.items()})
            all_rows[row] = figures
        for row, what, number in self.also:
            all_rows[row][what] = number
        if self.idle is not None:
            all_rows["idle connection"] = {"KiB": self.idle}
        return all_rows


def committed_file(name, device):
    """Return the path of a file of the documentation. Soft-RoCE's have no suffix."""
    stem, suffix = os.path.splitext(name)
    return os.path.join(DOCS, name if device == "rxe" else f"{stem}-{device}{suffix}")


def shown(what, number):
    return f"{number:,.0f}" if what in INSTRUCTIONS or what == "KiB" else f"{number:.2f}"


def table(figures, kinds):
    """Return lines of words: a head, then a line for each row and quantity."""
    base = figures.get("own")
    lines = [["operation.octets.depth", "what"] + [NAMES[k] for k in kinds]]
    if base:
        lines[0] += [f"{NAMES[k]} / in-tree" for k in kinds if k not in ("own", "tcp")]
    rows = {}
    for kind in kinds:
        for row, numbers in figures[kind].items():
            rows.setdefault(row, numbers)
    for row, first in rows.items():
        for what in first:
            numbers = {k: figures[k].get(row, {}).get(what) for k in kinds}
            line = [row, what] + ["" if n is None else shown(what, n) for n in numbers.values()]
            if base:
                for k in kinds:
                    if k in ("own", "tcp"):
                        continue
                    ok = numbers["own"] and numbers[k] is not None
                    line.append(f"{numbers[k] / numbers['own']:.2f}" if ok else "")
            lines.append(line)
    return lines


def print_table(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(w.ljust(n) if i < 2 else w.rjust(n) for i, (w, n) in enumerate(zip(line, widths))))


def write_csv(lines, path):
    with open(path, "w", encoding="ascii") as f:
        for line in lines:
            f.write(",".join(f'"{w}"' for w in line) + "\n")


def plot(figures, kinds, what, path):
    """Plot a bar for each row: the quantity, as a ratio to the in-tree module's."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "rpcrdma"
    from matplotlib import pyplot

    kinds = [k for k in kinds if k in ("v1", "v2")]
    rows = [r for r, f in figures["own"].items() if f.get(what)]
    chart, axes = pyplot.subplots(figsize=(9, 4.5))
    width = 0.8 / len(kinds)
    for n, kind in enumerate(kinds):
        heights = [figures[kind][r][what] / figures["own"][r][what] for r in rows]
        axes.bar([i + n * width for i in range(len(rows))], heights, width, label=NAMES[kind])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(rows))], rows, rotation=40, ha="right", fontsize=8)
    axes.set_ylabel(f"{what}, relative to the in-tree module")
    axes.legend(loc="lower right")
    chart.tight_layout()
    chart.savefig(path, metadata={"Date": None})
    pyplot.close(chart)


def tolerance(row):
    operation, _, depth = row.rpartition(".")
    return TOLERANCE_AT_DEPTH if "." in operation and int(depth) > 1 else TOLERANCE


def check(figures, path, compared=None):
    """Return a line for each figure that exceeds the committed one, which is in path. If
    compared is given, only these quantities are compared."""
    with open(path, encoding="ascii") as f:
        committed = json.load(f)
    worse = []
    for kind in ("v1", "v2"):
        for row, numbers in figures.get(kind, {}).items():
            for what, number in numbers.items():
                before = committed.get(kind, {}).get(row, {}).get(what)
                if before is None or (compared and what not in compared):
                    continue
                if number > max(before * tolerance(row), before + LEAST.get(what, 0)):
                    worse.append(f"{NAMES[kind]}, {row}, {what}: {shown(what, number)}, was {shown(what, before)}")
    return worse


def grid_lines(figures, kind):
    """Return a head, and a line for each row: the figures of kind, with their ratio to the
    in-tree module's if those were measured. A count is followed by the in-tree module's."""
    own = figures.get("own")
    lines = [[NAMES[kind], ""] + [*GOALS, *COUNTS]]
    for row, numbers in figures[kind].items():
        base = own[row] if own else None
        line = [row, "/ in-tree" if base else ""]
        for what in GOALS:
            line.append(shown(what, numbers[what]) + (f" {numbers[what] / base[what]:.2f}" if base else ""))
        for what in COUNTS:
            line.append(shown(what, numbers[what]) + (f" ({shown(what, base[what])})" if base else ""))
        lines.append(line)
    return lines


def heat_map(figures, kind, path):
    blocks = []
    for what, goal in GOALS.items():
        for operation in ("read", "write"):
            cells = {}
            for row, numbers in figures[kind].items():
                words = row.split(".")
                if words[0] != operation:
                    continue
                line = " ".join([f"depth {words[2]}"] + words[3:])
                cells[line, int(words[1])] = numbers[what] / figures["own"][row][what]
            if cells:
                blocks.append((f"{operation.upper()}, {what}: {NAMES[kind]} / in-tree", cells, goal))
    if blocks:
        heat.write(blocks, path)


def report_grid(figures, arguments):
    """Print the grid, and draw the heat maps."""
    for kind in arguments.kinds:
        if kind != "own" or len(arguments.kinds) == 1:
            print_table(grid_lines(figures, kind))
        if kind in ("v1", "v2") and "own" in figures:
            name = f"grid-{kind}.svg"
            to_docs = arguments.update
            path = committed_file(name, arguments.device) if to_docs else os.path.join(arguments.run, name)
            heat_map(figures, kind, path)
            print(f"The heat map is {os.path.normpath(path)}.")


def differences(this, other, count):
    both = sorted(set(this) | set(other), key=lambda f: other[f] - this[f])
    for f in both[:count] + both[-count:]:
        print(f"{this[f] - other[f]:+9.0f} {this[f]:9.0f} {other[f]:9.0f}  {f[1]} [{f[0]}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--device", default="rxe", help="rxe or memdev: which committed figures")
    parser.add_argument("--short", action="store_true", help="those of the short form, and nothing else")
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--top", type=int, default=40)
    parser.add_argument("--row")
    parser.add_argument("--against")
    parser.add_argument("run")
    parser.add_argument("kinds", nargs="+")
    arguments = parser.parse_args()

    if arguments.row:
        cost, _ = Run(os.path.join(arguments.run, arguments.kinds[0])).functions(arguments.row)
        if arguments.against:
            other, _ = Run(os.path.join(arguments.run, arguments.against)).functions(arguments.row)
            differences(cost, other, arguments.top)
        else:
            for (module, name), c in cost.most_common(arguments.top):
                print(f"{c:9.0f}  {name} [{module}]")
        return 0

    figures = {k: Run(os.path.join(arguments.run, k)).figures() for k in arguments.kinds}
    if arguments.grid:
        report_grid(figures, arguments)
        return 0
    lines = table(figures, arguments.kinds)
    print_table(lines)
    committed = committed_file("figures-short.json" if arguments.short else "figures.json", arguments.device)
    if arguments.update:
        os.makedirs(DOCS, exist_ok=True)
        with open(committed, "w", encoding="ascii") as f:
            rounded = {
                k: {r: {w: round(n, 2) for w, n in numbers.items()} for r, numbers in rows.items()}
                for k, rows in figures.items()
            }
            json.dump(rounded, f, indent=1, sort_keys=True)
            f.write("\n")
    if arguments.update and not arguments.short:
        write_csv(lines, committed_file("table.csv", arguments.device))
        if arguments.device != "rxe":
            with open(os.path.join(DOCS, f"{arguments.device}.inc"), "w", encoding="ascii") as f:
                f.write(f".. csv-table::\n   :file: table-{arguments.device}.csv\n   :header-rows: 1\n")
        charts = (("all", "all"), ("rpcrdma", "module"), ("schedules", "schedules"))
        for what, name in charts if "own" in figures else ():
            plot(figures, arguments.kinds, what, committed_file(f"{name}.svg", arguments.device))
    if arguments.check:
        worse = check(figures, committed, STEADY if arguments.short else None)
        for line in worse:
            print(f"worse: {line}")
        return 1 if worse else 0
    return 0


sys.exit(main())
