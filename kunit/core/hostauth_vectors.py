#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Test vectors of host authentication (wire-profile.rst, section 9).

  hostauth_vectors.py           writes hostauth_vectors.inc
  hostauth_vectors.py --check   fails if that file has other contents

Written after the document, and with none of the core's code: HostAuth.Vectors compares
both.
"""
import hashlib
import hmac
import os
import struct
import sys

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostauth_vectors.inc")

HASHES = {"SHA256": (1, hashlib.sha256), "SHA384": (2, hashlib.sha384), "SHA512": (3, hashlib.sha512)}
TPMORE = 4
HOSTAUTH = 6
SECRET = bytes(range(0x40, 0x60))
IDENTITIES = {"client": b"client.example", "server": b"server.example"}
NONCES = {"client": bytes(range(32)), "server": bytes(range(0x80, 0xa0))}
# number, value: as both ends of the tests announce them; only a client has number 5
PROPERTIES = ((1, 4096), (2, 4096), (3, 1048576), (4, 64), (5, 3), (0xf0000001, 0), (0xf0000002, 262144))


def words(*values):
    return struct.pack(f">{len(values)}I", *values)


def opaque(data):
    return words(len(data)) + data + bytes(-len(data) % 4)


def connprop(properties):
    return words(len(properties)) + b"".join(words(number) + opaque(data) for number, data in properties)


def own(end):
    return [(number, words(value)) for number, value in PROPERTIES if end == "client" or number != 5]


def item(kind, *parts):
    return HOSTAUTH, words(1, kind) + b"".join(parts)


def private(send, receive):
    return words(0xf6ab0e18) + bytes((1, 1, send // 1024 - 1, receive // 1024 - 1))


def vector(name):
    number, function = HASHES[name]
    first = {
        "client": connprop(own("client") + [item(1, words(1 << number, 1), NONCES["client"],
                                                 opaque(IDENTITIES["client"]))]),
        "server": connprop(own("server") + [item(2, words(number, 0), NONCES["server"],
                                                 opaque(IDENTITIES["server"]), opaque(b""))]),
    }
    result = {"client_first": first["client"], "server_first": first["server"]}
    for role, end in enumerate(("client", "server"), 1):
        data = (b"RPCRDMA2HOSTAUTH" + words(1, role, 2, number, 0) +
                private(4096, 4096) + private(4096, 4096) +
                words(TPMORE, len(first["client"]), TPMORE, len(first["server"])) +
                first["client"] + first["server"])
        proof = hmac.new(SECRET, data, function).digest()
        result[f"{end}_input"] = data
        result[f"{end}_proof"] = proof
        result[f"{end}_message"] = connprop([item(3, opaque(proof), opaque(b""))])
    return number, result


def text():
    lines = ["/* Written by hostauth_vectors.py: bytes after the prefix, inputs and proofs */",
             f"/* secret: {SECRET.hex()} */"]
    for name in HASHES:
        number, result = vector(name)
        lines.append(f"{{ {number}, {{")
        for key, data in result.items():
            lines.append(f'\t{{ "{key}",')
            digits = data.hex()
            parts = [digits[i:i + 64] for i in range(0, len(digits), 64)]
            lines += [f'\t  "{part}"' for part in parts]
            lines[-1] += " },"
        lines.append("} },")
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] == ["--check"]:
        with open(FILE, encoding="ascii") as file:
            if file.read() != text():
                sys.exit(f"{FILE} has other contents than its script writes")
        return
    with open(FILE, "w", encoding="ascii") as file:
        file.write(text())


if __name__ == "__main__":
    main()
