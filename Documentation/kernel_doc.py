# SPDX-License-Identifier: GPL-2.0
"""Sphinx extension: the directive "kernel-doc" shows the kernel-doc comments of a header
of the library. A comment must be followed by what it describes, and describe each
parameter or field: otherwise the documents do not build."""
import pathlib
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import ViewList

ROOT = pathlib.Path(__file__).parent.parent
COMMENT = re.compile(r"/\*\*\n(.*?)\*/\n(.*?)(?=\n\n|\n/\*\*|\Z)", re.S)
TITLE = re.compile(r"(?:(struct|enum) )?(\w+)(\(\))? - (.*)")


class Wrong(Exception):
    """A comment that does not fit what follows it"""


def lines_of(body):
    return [re.sub(r"^ \* ?", "", line).rstrip() for line in body.split("\n")][:-1]


def inline(text):
    text = re.sub(r"(?<!\w)@(\w+)", r"``\1``", text)
    text = re.sub(r"(?<![\w`])(rpcrdma2_\w+\(\))", r":c:func:`\1`", text)
    return re.sub(r"(?<![\w`])(struct|enum) (rpcrdma2_\w+)", r":c:\1:`\2`", text)


def sections(lines):
    """Return the title, the parameters, and the rest of a comment as paragraphs."""
    text = "\n".join(lines)
    head, *rest = re.split(r"\n(?=@\w+:|\n)", text, maxsplit=1)
    params, others = {}, []
    for part in re.split(r"\n(?=@\w+:)|\n\n", rest[0] if rest else ""):
        found = re.match(r"\n*@(\w+):\s*(.*)", part, re.S)
        if found:
            params[found[1]] = " ".join(found[2].split())
        elif part.strip():
            others.append(" ".join(part.split()))
    return " ".join(head.split()), params, others


def names_in(kind, code):
    """Return the parameters, fields or constants that the declaration has."""
    code = re.sub(r"/\* private: \*/.*(?=})", "", code, flags=re.S)
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    if kind == "enum":
        return None
    if kind == "struct":
        body = code[code.index("{") + 1:code.rindex("}")]
        fields = re.findall(r"\(\*(\w+)\)\(|(\w+)(?:\[[^\]]*\])?;", body)
        return {a or b for a, b in fields}
    inside = code[code.index("(") + 1:code.rindex(")")]
    function = re.findall(r"\(\*(\w+)\)\([^)]*\)", inside)
    inside = re.sub(r"\(\*\w+\)\([^)]*\)", "", inside)
    plain = [p.split()[-1].lstrip("*") for p in inside.split(",") if p.strip()]
    return {p for p in plain if p not in ("void", "int")} | set(function)


def declaration(code):
    code = " ".join(code.split()).replace("RPCRDMA2_EXPORT ", "").rstrip("; ")
    return code.replace("( ", "(")


def entry(header, body, code):
    """Return the lines of reStructuredText for one comment."""
    title, params, others = sections(lines_of(body))
    found = TITLE.match(title)
    if not found:
        raise Wrong(f"{header}: no title: {title}")
    kind, name, function, summary = found.groups()
    if not re.search(rf"\b{name}\b", code.split("{")[0]):
        raise Wrong(f"{header}: {name} is not what follows its comment")
    wanted = names_in(kind, code)
    if wanted is not None and wanted != set(params):
        raise Wrong(f"{header}: {name}: described and declared differ: "
                    f"{sorted(wanted ^ set(params))}")
    what = f"c:{kind}:: {name}" if kind else f"c:function:: {declaration(code)}"
    out = [f".. {what}", "", f"   {inline(summary)}", ""]
    for param, text in params.items():
        out += [f"   ``{param}``", f"      {inline(text)}", ""]
    for text in others:
        out += [f"   {inline(text)}", ""]
    return out, function


class KernelDoc(Directive):
    required_arguments = 1

    def run(self):
        path = ROOT / self.arguments[0]
        self.state.document.settings.env.note_dependency(str(path))
        out = []
        try:
            for body, code in COMMENT.findall(path.read_text()):
                out += entry(path.name, body, code)[0]
        except Wrong as wrong:
            raise self.error(str(wrong)) from wrong
        view = ViewList()
        for number, line in enumerate(out):
            view.append(line, str(path), number)
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(view, self.content_offset, node)
        return node.children


def setup(app):
    app.add_directive("kernel-doc", KernelDoc)
    return {"parallel_read_safe": True}
