#!/usr/bin/env python3
"""The permutation of src/data/permutation.h from the C++ standard's text alone ([rand.util.seedseq], [rand.eng.mers]).

usage: permutation.py COUNT SEED PURPOSE      prints the order that tests/data_room/permutation_test.cpp expects
"""
import sys

M32, M64 = 2**32 - 1, 2**64 - 1


def seed_seq(v, n):
    """std::seed_seq(v).generate() of n words."""
    t = 11 if n >= 623 else 7 if n >= 68 else 5 if n >= 39 else 3 if n >= 7 else (n - 1) // 2
    p = (n - t) // 2
    q = p + t
    b = [0x8B8B8B8B] * n
    mix = lambda x: x ^ (x >> 27)
    m = max(len(v) + 1, n)
    for k in range(m):
        r1 = 1664525 * mix(b[k % n] ^ b[(k + p) % n] ^ b[(k - 1) % n]) & M32
        r2 = r1 + (len(v) if k == 0 else k % n + v[k - 1] if k <= len(v) else k % n) & M32
        b[(k + p) % n] = b[(k + p) % n] + r1 & M32
        b[(k + q) % n] = b[(k + q) % n] + r2 & M32
        b[k % n] = r2
    for k in range(m, m + n):
        r3 = 1566083941 * mix(b[k % n] + b[(k + p) % n] + b[(k - 1) % n] & M32) & M32
        r4 = r3 - k % n & M32
        b[(k + p) % n] ^= r3
        b[(k + q) % n] ^= r4
        b[k % n] = r4
    return b


def mt19937_64(words):
    n, m, low = 312, 156, 2**31 - 1
    x = [words[2 * i] | words[2 * i + 1] << 32 for i in range(n)]
    while True:
        for i in range(n):
            y = x[i] & ~low & M64 | x[(i + 1) % n] & low
            x[i] = x[(i + m) % n] ^ y >> 1 ^ (0xB5026F5AA96619E9 if y & 1 else 0)
            z = x[i]
            z ^= z >> 29 & 0x5555555555555555
            z ^= z << 17 & 0x71D67FFFEDA60000
            z ^= z << 37 & 0xFFF7EEE000000000 & M64
            yield (z ^ z >> 43) & M64


def permutation(count, seed, purpose):
    draws = mt19937_64(seed_seq([seed & M32, seed >> 32, purpose], 624))
    order = list(range(count))
    for left in range(count, 1, -1):
        value = next(v for v in draws if v < M64 - M64 % left)
        at = value % left
        order[left - 1], order[at] = order[at], order[left - 1]
    return order


if __name__ == "__main__":
    print(*permutation(*map(int, sys.argv[1:4])), sep=", ")
