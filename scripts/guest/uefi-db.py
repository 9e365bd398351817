#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""uefi-db.py EMPTY_VARIABLES VARIABLES CERTIFICATE.der

Write a copy of OVMF's empty variable store in which the firmware's key database (the variable
"db") has the certificate. Linux trusts the keys of db for modules, with or without Secure
Boot."""
import struct
import sys
import uuid

NON_VOLATILE_BOOT_RUNTIME_AUTHENTICATED = 0x27
START, ADDED = 0x55aa, 0x3f


def guid(text):
    return uuid.UUID(text).bytes_le


def main():
    with open(sys.argv[1], "rb") as file:
        store = bytearray(file.read())
    with open(sys.argv[3], "rb") as file:
        certificate = file.read()
    # The store of authenticated variables begins with this type and 12 more bytes.
    at = store.index(guid("aaf32c78-947b-439a-a180-2e144ec37792")) + 28
    if store[at:at + 2] != b"\xff\xff":
        sys.exit(f"{sys.argv[1]} is not empty")
    signature = uuid.uuid4().bytes_le + certificate
    data = guid("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")     # X.509
    data += struct.pack("<III", 28 + len(signature), 0, len(signature)) + signature
    name = "db\0".encode("utf-16le")
    variable = struct.pack("<HBBIQ", START, ADDED, 0, NON_VOLATILE_BOOT_RUNTIME_AUTHENTICATED, 0)
    variable += struct.pack("<HBBBBBBIhBB", 2026, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    variable += struct.pack("<III", 0, len(name), len(data))
    variable += guid("d719b2cb-3d3a-4596-a3bc-dad00e67656f") + name + data
    store[at:at + len(variable)] = variable
    with open(sys.argv[2], "wb") as file:
        file.write(store)


main()
