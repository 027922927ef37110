#!/usr/bin/env python3
"""Writes tests/data/mixed.safetensors according to the published format, independently of src/lab/train/safetensors.cpp.

    python3 scripts/reference/safetensors_file.py tests/data/mixed.safetensors

Format: u64 little-endian header length; JSON header, padded with spaces to a multiple of 8; the tensors' bytes, sorted by the
width of their type (widest first), then by name. tests/train/safetensors_test.cpp expects exactly these tensors.
"""
import json
import struct
import sys

METADATA = {"format": "pt", "note": "written by python's struct and json"}
# name: (type, shape, values)
TENSORS = {
    "weight": ("F32", [2, 3], [0.0, 1.5, -2.25, 3.0, 1e-3, float("inf")]),
    "layer.größe": ("F32", [1], [-0.0]),
    "double": ("F64", [], [0.1]),
    "half": ("F16", [4], [1.0, -0.5, 65504.0, 5.960464477539063e-08]),
    "brain": ("BF16", [3], [1.0, -3.140625, 3.3895313892515355e38]),
    "long": ("I64", [2], [-(2**63), 2**63 - 1]),
    "int": ("I32", [2, 2], [1, -1, 2**31 - 1, -(2**31)]),
    "bytes": ("U8", [5], [0, 1, 2, 254, 255]),
    "mask": ("BOOL", [3], [1, 0, 1]),
    "empty": ("F32", [0, 4], []),
}
CODES = {"I64": "q", "F64": "d", "F32": "f", "I32": "i", "F16": "e", "U8": "B", "BOOL": "?"}
ORDER = ["I64", "F64", "F32", "I32", "BF16", "F16", "U8", "BOOL"]


def encode(kind, values):
    if kind == "BF16":  # the upper half of a float32
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{len(values)}{CODES[kind]}", *values)


def main():
    header, data = {"__metadata__": METADATA}, b""
    for name in sorted(TENSORS, key=lambda name: (ORDER.index(TENSORS[name][0]), name.encode())):
        kind, shape, values = TENSORS[name]
        content = encode(kind, values)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(sys.argv[1], "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
