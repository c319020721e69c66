/* Long straight-line blocks: the compression function of SHA-256 (FIPS 180-4) over and over. */
#include "bench.h"

enum { TURNS = 32000 };

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t ror(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void compress(uint32_t h[8], uint32_t w[64])
{
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t v[8];
    for (int i = 0; i < 8; i++) {
        v[i] = h[i];
    }
    for (int i = 0; i < 64; i++) {
        uint32_t *a = &v[-i & 7], *b = &v[(1 - i) & 7], *c = &v[(2 - i) & 7], *d = &v[(3 - i) & 7];
        uint32_t *e = &v[(4 - i) & 7], *f = &v[(5 - i) & 7], *g = &v[(6 - i) & 7], *last = &v[(7 - i) & 7];
        uint32_t t1 = *last + (ror(*e, 6) ^ ror(*e, 11) ^ ror(*e, 25)) + ((*e & *f) ^ (~*e & *g)) + k[i] + w[i];
        uint32_t t2 = (ror(*a, 2) ^ ror(*a, 13) ^ ror(*a, 22)) + ((*a & *b) ^ (*a & *c) ^ (*b & *c));
        *d += t1;
        *last = t1 + t2;
    }
    for (int i = 0; i < 8; i++) {
        h[i] += v[i];
    }
}

uint32_t work(void)
{
    static uint32_t w[64];
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        for (uint32_t i = 0; i < 16; i++) {
            w[i] = h[i & 7] ^ turn * i;
        }
        compress(h, w);
    }
    return h[0];
}

const uint32_t expected = 0x27f94877;
