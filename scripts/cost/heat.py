# SPDX-License-Identifier: GPL-2.0
"""A heat map of the grid of scripts/cost.sh as SVG: for each size and depth, the cost of this
module relative to the in-tree module's.

The file is text, so that a diff shows the changed figures. No library is needed to write it."""

CELL, LEFT, TOP, LINE = 46, 170, 34, 18


def shade(ratio, goal):
    """Return the colour of a ratio: green below the goal, white at it, red above it."""
    depth = min(abs(ratio - goal) / 0.5, 1)
    faded = round(255 - 140 * depth)
    return f"rgb({faded},{round(255 - 40 * depth)},{faded})" if ratio <= goal else f"rgb(255,{faded},{faded})"


def text(x, y, words, anchor="middle", weight="normal"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}">{words}</text>'


def block(title, cells, goal, y):
    """Return lines of SVG for one quantity, and the y after it. cells: {(line, column): ratio}"""
    lines = list(dict.fromkeys(line for line, _ in cells))
    columns = sorted({column for _, column in cells})
    out = [text(8, y + 20, title, "start", "bold")]
    for i, column in enumerate(columns):
        words = f"{column // 1024}K" if column % 1024 == 0 else f"{column}"
        out.append(text(LEFT + i * CELL + CELL // 2, y + TOP + 8, words))
    y += TOP + 14
    for line in lines:
        out.append(text(LEFT - 8, y + 13, line, "end"))
        for i, column in enumerate(columns):
            ratio = cells.get((line, column))
            if ratio is None:
                continue
            x = LEFT + i * CELL
            out.append(f'<rect x="{x}" y="{y}" width="{CELL - 1}" height="{LINE - 1}" fill="{shade(ratio, goal)}"/>')
            out.append(text(x + CELL // 2, y + 13, f"{ratio:.2f}"))
        y += LINE
    return out, y, LEFT + len(columns) * CELL


def write(blocks, path):
    """Write the heat map of blocks: (title, cells, goal) for each quantity."""
    out, y, width = [], 0, 0
    for title, cells, goal in blocks:
        lines, y, right = block(title, cells, goal, y)
        out += lines
        width = max(width, right)
    with open(path, "w", encoding="ascii") as f:
        f.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 8}" height="{y + 8}" '
            f'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
        )
        f.write("\n".join(out) + "\n</svg>\n")
