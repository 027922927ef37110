#!/usr/bin/env python3
"""Reads a TensorBoard event file independently of src/lab/train/events.cpp, and prints one JSON list of its events as text.

    python3 scripts/reference/read_events.py events.out.tfevents.1700000000.host

The framing (u64 length, its masked CRC-32C, payload, its masked CRC-32C) is checked with a bit-by-bit CRC; the payloads are
decoded by Debian's protoc. Prints one sentence and exits with 1 if a checksum is wrong or the file ends within a record.
"""
import json
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        frame = data[at : at + 12]
        if len(frame) < 12:
            sys.exit(f"the file ends within a record at byte {at}")
        length, length_crc = struct.unpack("<QI", frame)
        if masked_crc32c(frame[:8]) != length_crc:
            sys.exit(f"the checksum of the length at byte {at} is wrong")
        payload, tail = data[at + 12 : at + 12 + length], data[at + 12 + length : at + 16 + length]
        if len(tail) < 4:
            sys.exit(f"the file ends within a record at byte {at}")
        if masked_crc32c(payload) != struct.unpack("<I", tail)[0]:
            sys.exit(f"the checksum of the record at byte {at} is wrong")
        yield payload
        at += 16 + length


def decode(payload):
    command = ["protoc", "--decode=Event", f"--proto_path={HERE}", "event.proto"]
    text = subprocess.run(command, input=payload, stdout=subprocess.PIPE, check=True).stdout.decode()
    return " ".join(text.split())


def main():
    with open(sys.argv[1], "rb") as file:
        print(json.dumps([decode(payload) for payload in records(file.read())]))


if __name__ == "__main__":
    main()
