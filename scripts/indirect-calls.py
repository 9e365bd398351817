#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""indirect-calls.py MODULE.ko CORE.o

Check a module for x86-64 that clang has built with control-flow integrity (kCFI) and indirect
branch tracking (IBT). The processor requires ENDBR at the target of an indirect call, and the
caller compares a hash of the function's type with the one that precedes the target. Each
function whose address is stored or loaded has to have both. The core, CORE.o, calls no
function of the kernel by its address: each hash that it expects has to be that of a function
of the module. A type that C and C++ do not hash to the same value would be found here. Functions
of the core that the module has, but does not use, because all calls of them are inlined, are not
checked."""
import re
import struct
import sys

EXECUTE = 4
ENDBR = b"\xf3\x0f\x1e\xfa"
R_64, R_PC32, R_PLT32, R_32, R_32S = 1, 2, 4, 10, 11
# Sections with the addresses of functions that are called through them
POINTERS = re.compile(r"\.(rela?\.)?(data|rodata|init\.data|ref\.data|exit\.data)|"
                      r"\.gnu\.linkonce\.this_module|__tracepoints$")


class Module:
    """The sections, symbols and relocations of a relocatable file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        offset, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size) for i in range(count)]
        self.names = [self.string(self.sections[names], s[0]) for s in self.sections]
        table = next(s for s in self.sections if s[1] == 2)
        self.symbols = []
        for at in range(table[4], table[4] + table[5], 24):
            name, info, _, shndx, value, _ = struct.unpack_from("<IBBHQQ", self.data, at)
            self.symbols.append((self.string(self.sections[table[6]], name), info & 15, shndx, value))

    def string(self, section, at):
        start = section[4] + at
        return self.data[start:self.data.index(b"\0", start)].decode()

    def content(self, index):
        return self.data[self.sections[index][4]:self.sections[index][4] + self.sections[index][5]]

    def executable(self, index):
        return index < len(self.sections) and self.sections[index][2] & EXECUTE

    def relocations(self):
        for section in self.sections:
            if section[1] != 4:
                continue
            for at in range(section[4], section[4] + section[5], 24):
                where, info, addend = struct.unpack_from("<QQq", self.data, at)
                yield section[7], where, info & 0xffffffff, self.symbols[info >> 32], addend


def taken(module):
    """Return the functions whose address is stored or loaded: (section, offset)."""
    found = set()
    for section, where, kind, (_, _, target, value), addend in module.relocations():
        # A static call is a direct jump, which the kernel changes.
        if not module.executable(target) or module.names[target] == ".static_call.text":
            continue
        if module.executable(section):
            code = module.content(section)
            if kind == R_PC32 and code[where - 2] == 0x8d:
                addend += 4     # "lea", relative to the end of the instruction
            elif kind not in (R_64, R_32, R_32S):
                continue
        elif not POINTERS.match(module.names[section]):
            continue
        found.add((target, value + addend))
    return found


def used(module):
    """Return the functions that are called or whose address is stored or loaded: (section, offset)."""
    found = set()
    for section, _, kind, (_, _, target, value), addend in module.relocations():
        if module.executable(section) or POINTERS.match(module.names[section]):
            found.add((target, value + addend + (4 if kind in (R_PC32, R_PLT32) else 0)))
    return found


def hash_of(module, section, offset):
    """Return the hash in front of the function at offset, or None: "movl $hash, %eax; nop..."."""
    code = module.content(section)
    for padding in (11, 0):
        at = offset - padding - 5
        if at >= 0 and code[at] == 0xb8 and set(code[at + 5:offset]) <= {0x90}:
            return struct.unpack_from("<I", code, at + 1)[0]
    return None


def calls(module):
    """Return the hashes that indirect calls expect: "movl $-hash, %r10d; addl -n(%r11), %r10d"."""
    for section in range(len(module.sections)):
        if module.executable(section):
            for found in re.finditer(rb"\x41\xba(....)\x45\x03\x53", module.content(section), re.DOTALL):
                yield -struct.unpack("<I", found[1])[0] & 0xffffffff, section, found.start()


def main():
    module = Module(sys.argv[1])
    names = {(s, v): n for n, kind, s, v in module.symbols if kind == 2}
    bad = 0
    hashes = set()
    functions = taken(module)
    for section, offset in sorted(functions):
        name = names.get((section, offset))
        if not name:
            continue    # a label or a table in a function
        if module.content(section)[offset:offset + 4] != ENDBR:
            print(f"{name}: its address is taken, and it does not begin with ENDBR")
            bad = 1
        hash_ = hash_of(module, section, offset)
        if hash_ is None:
            print(f"{name}: its address is taken, and no hash of its type precedes it")
            bad = 1
        hashes.add(hash_)
    known = {hash_ for hash_, _, _ in calls(module)} & hashes
    core = Module(sys.argv[2])
    core_names = {(s, v): n for n, kind, s, v in core.symbols if kind == 2}
    in_use = used(module)
    unused = {n for at, n in names.items() if at not in in_use}
    expected = 0
    for hash_, section, offset in calls(core):
        name = max(((v, n) for (s, v), n in core_names.items() if s == section and v <= offset), default=(0, "?"))[1]
        if name in unused:
            continue
        expected += 1
        if hash_ not in hashes:
            print(f"{name}: calls a function of a type that no function of the module has ({hash_:#010x})")
            bad = 1
    count = sum(1 for f in functions if f in names)
    print(f"{count} functions whose address is taken, {len(known)} types that the module calls, "
          f"{expected} calls by the core")
    if not count or not expected:
        print("there are none: this module was built without control-flow integrity")
        bad = 1
    return bad


sys.exit(main())
