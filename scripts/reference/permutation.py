#!/usr/bin/env python3
"""The permutations of src/lab/data/permutation.h, written from the C++ standard ([rand.util.seedseq], [rand.eng.mers]).

Usage: permutation.py COUNT SEED PURPOSE [EPOCH]      prints the order that tests/data_files/permutation_test.cpp expects
"""
import sys

M32 = 2**32 - 1


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


def mt19937(words):
    n, m, low = 624, 397, 2**31 - 1
    x = list(words)
    while True:
        for i in range(n):
            y = x[i] & ~low & M32 | x[(i + 1) % n] & low
            x[i] = x[(i + m) % n] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
            z = x[i]
            z ^= z >> 11
            z ^= z << 7 & 0x9D2C5680
            z ^= z << 15 & 0xEFC60000
            yield (z ^ z >> 18) & M32


def permutation(count, *words):
    draws = mt19937(seed_seq(words, 624))
    order = list(range(count))
    for i in range(count - 1):
        at = i + next(draws) % (count - i)
        order[i], order[at] = order[at], order[i]
    return order


if __name__ == "__main__":
    count, seed, *rest = map(int, sys.argv[1:])
    epoch = [rest[1] & M32, rest[1] >> 32] if len(rest) > 1 else []
    print(*permutation(count, seed & M32, seed >> 32, rest[0], *epoch), sep=", ")
