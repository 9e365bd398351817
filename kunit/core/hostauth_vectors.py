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
# Diffie-Hellman groups of RFC 7919: number, bits, and the constant of the prime's formula
GROUPS = {"none": (0, 0, 0), "ffdhe2048": (1, 2048, 560316), "ffdhe3072": (2, 3072, 2625351),
          "ffdhe4096": (3, 4096, 5736041)}
PRIVATE = {"client": bytes(range(0x01, 0x29)), "server": bytes(range(0xc1, 0xe9))}
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


def e_scaled(bits):
    """2^bits * e, rounded down"""
    total, term, k = 0, 1 << (bits + 64), 0
    while term:
        total += term
        k += 1
        term //= k
    return total >> 64


def prime(bits, constant):
    """The prime of a group (RFC 7919, appendix A)"""
    return (1 << bits) - (1 << (bits - 64)) + ((e_scaled(bits - 130) + constant) << 64) - 1


def exchange(bits, constant):
    """The numbers of a Diffie-Hellman exchange, which all have the length of the prime"""
    if not bits:
        return {}
    p = prime(bits, constant)
    secret = {end: int.from_bytes(octets, "big") for end, octets in PRIVATE.items()}
    public = {end: pow(2, x, p) for end, x in secret.items()}
    shared = pow(public["client"], secret["server"], p)
    if shared != pow(public["server"], secret["client"], p):
        sys.exit("both ends have different secrets")
    numbers = {"prime": p, "client_public": public["client"],
               "server_public": public["server"], "shared": shared}
    return {name: number.to_bytes(bits // 8, "big") for name, number in numbers.items()}


def vector(name, group="none"):
    number, function = HASHES[name]
    chosen, *formula = GROUPS[group]
    dh = exchange(*formula)
    public = {end: dh.get(end + "_public", b"") for end in PRIVATE}
    first = {
        "client": connprop(own("client") + [item(1, words(1 << number, 1 | 1 << chosen),
                                                 NONCES["client"],
                                                 opaque(IDENTITIES["client"]))]),
        "server": connprop(own("server") + [item(2, words(number, chosen), NONCES["server"],
                                                 opaque(IDENTITIES["server"]),
                                                 opaque(public["server"]))]),
    }
    result = {"client_first": first["client"], "server_first": first["server"], **dh}
    # The server has already sent its public value.
    public["server"] = b""
    for role, end in enumerate(("client", "server"), 1):
        data = (b"RPCRDMA2HOSTAUTH" + words(1, role, 2, number, chosen) +
                private(4096, 4096) + private(4096, 4096) +
                words(TPMORE, len(first["client"]), TPMORE, len(first["server"])) +
                first["client"] + first["server"] +
                dh.get("client_public", b"") + dh.get("shared", b""))
        proof = hmac.new(SECRET, data, function).digest()
        result[f"{end}_input"] = data
        result[f"{end}_proof"] = proof
        result[f"{end}_message"] = connprop([item(3, opaque(proof), opaque(public[end]))])
    return number, chosen, result


def text():
    lines = ["/* Written by hostauth_vectors.py: bytes after the prefix, inputs and proofs */",
             f"/* secret: {SECRET.hex()} */"]
    lines += [f"/* private value of the {end}: {value.hex()} */" for end, value in PRIVATE.items()]
    cases = [(name, "none") for name in HASHES]
    cases += [("SHA256", "ffdhe2048"), ("SHA384", "ffdhe3072"), ("SHA512", "ffdhe4096")]
    for case in cases:
        number, chosen, result = vector(*case)
        lines.append(f"{{ {number}, {chosen}, {{")
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
