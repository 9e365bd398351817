# SPDX-License-Identifier: GPL-2.0
"""Sphinx extension: the directive "kernel-doc" shows the kernel-doc comments of a header.
A comment must be followed by the declaration that it describes, and describe each
parameter, field and returned value: otherwise the documents do not build. In the folders
of COMPLETE each function that a header declares has such a comment."""
import pathlib
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import ViewList

ROOT = pathlib.Path(__file__).parent.parent
COMPLETE = ("include/rpcrdma", "scripts/tools/lib")
COMMENT = re.compile(r"/\*\*\n(.*?)\*/\n(.*?)(?=\n\n|\n/\*\*|\Z)", re.S)
TITLE = re.compile(r"(?:(struct|enum) )?(\w+)(\(\))? - (.*)")
# The name of a function that is declared or, if it is inline, defined
FUNCTION = re.compile(r"^(?:[A-Z]\w+ )?(?:static inline )?(?:const )?(?:struct |enum )?[a-z]\w*"
                      r"[ \n*]+(\w+)\([^;{}#]*\)(?:;|\n\{)", re.M)
SECTION = re.compile(r"(Context|Return): ")


class Wrong(Exception):
    """A comment that does not fit what follows it"""


def lines_of(body):
    return [re.sub(r"^ \* ?", "", line).rstrip() for line in body.split("\n")][:-1]


def inline(text):
    text = re.sub(r"\b([A-Z0-9_]+_\*)", r"``\1``", text)
    text = re.sub(r"(?<!_)([*|])", r"\\\1", text)
    text = re.sub(r"(?<!\w)@(\w+)", r"``\1``", text)
    text = re.sub(r"(?<![\w`])(rpcrdma2_\w+\(\))", r":c:func:`\1`", text)
    return re.sub(r"(?<![\w`])(struct|enum) (rpcrdma2_\w+)", r":c:\1:`\2`", text)


def paragraphs(text):
    """Return the paragraphs of a description; sections and list items begin one, too."""
    text = re.sub(r"\n(?=- |(?:Context|Return): )", "\n\n", text)
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def sections(lines):
    """Return the title, the parameters, and the rest of a comment as paragraphs."""
    text = "\n".join(lines)
    head, *rest = re.split(r"\n(?=@\w+:|\n)", text, maxsplit=1)
    params, others = {}, []
    for part in re.split(r"\n(?=@\w+:)|\n\n", rest[0] if rest else ""):
        found = re.match(r"\n*@(\w+):\s*(.*)", part, re.S)
        if found:
            params[found[1]] = " ".join(found[2].split())
        else:
            others += paragraphs(part)
    return " ".join(head.split()), params, others


def names_in(kind, code):
    """Return the parameters, fields or constants that the declaration has."""
    code = re.sub(r"/\* private: \*/.*(?=})", "", code, flags=re.S)
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    if kind == "enum":
        return None
    if kind == "struct":
        body = code[code.index("{") + 1:code.rindex("}")]
        fields = re.findall(r"\(\*(\w+)\)\(|(\w+)(?:\[[^\]]*\])*;", body)
        return {a or b for a, b in fields}
    inside = code[code.index("(") + 1:code.rindex(")")]
    function = re.findall(r"\(\*(\w+)\)\([^)]*\)", inside)
    inside = re.sub(r"\w+ \**\(\*\w+\)\([^)]*\)", "", inside)
    inside = re.sub(r"\[[^\]]*\]", "", inside)
    plain = [p.split()[-1].lstrip("*") for p in inside.split(",") if p.strip()]
    return {p for p in plain if p not in ("void", "int")} | set(function)


def declaration(code):
    code = " ".join(code.split()).replace("RPCRDMA2_EXPORT ", "").rstrip("; ")
    return code.replace("static inline ", "").replace("( ", "(")


def returns_value(code):
    before = code[:code.index("(")]
    return "*" in before or not re.search(r"\bvoid\s+\w+$", before)


def entry(header, body, code):
    """Return the lines of reStructuredText for one comment."""
    title, params, others = sections(lines_of(body))
    found = TITLE.match(title)
    if not found:
        raise Wrong(f"{header}: no title: {title}")
    kind, name, function, summary = found.groups()
    if not kind:
        code = re.sub(r"__attribute__\(\(\w+\)\)\s+", "", code.split("{")[0].strip())
    if not re.search(rf"\b{name}\b", code.split("{")[0]):
        raise Wrong(f"{header}: {name} is not what follows its comment")
    if not kind and returns_value(code) != any(t.startswith("Return: ") for t in others):
        raise Wrong(f"{header}: {name}: the returned value is not described, or there is none")
    wanted = names_in(kind, code)
    if wanted is not None and wanted != set(params):
        raise Wrong(f"{header}: {name}: described and declared differ: "
                    f"{sorted(wanted ^ set(params))}")
    what = f"c:{kind}:: {name}" if kind else f"c:function:: {declaration(code)}"
    out = [f".. {what}", "", f"   {inline(summary)}", ""]
    for param, text in params.items():
        out += [f"   ``{param}``", f"      {inline(text)}", ""]
    for text in others:
        found = SECTION.match(text)
        head = f"**{found[1]}:** " if found else ""
        out += [f"   {head}{inline(text[found.end():] if found else text)}", ""]
    return out, name


def entries(path):
    """Return the lines of reStructuredText for a header."""
    text, out, described = (ROOT / path).read_text(), [], set()
    for body, code in COMMENT.findall(text):
        lines, name = entry(path, body, code)
        out += lines
        described.add(name)
    missing = set(FUNCTION.findall(text)) - described
    if missing and path.startswith(COMPLETE):
        raise Wrong(f"{path}: not described: {', '.join(sorted(missing))}")
    return out


class KernelDoc(Directive):
    required_arguments = 1

    def run(self):
        path = ROOT / self.arguments[0]
        self.state.document.settings.env.note_dependency(str(path))
        try:
            out = entries(self.arguments[0])
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
