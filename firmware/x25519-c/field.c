/* Every loop here has a fixed number of turns and no branch depends on a value, so the time is the
 * same for all inputs. */
#include "field.h"

#define LIMB_BITS 13
#define LIMB_MASK 0x1fffu
/* 2^260 = 32 * 2^255, which is 32 * 19 modulo p */
#define WRAP 608u

/* Brings limbs of up to 2^31 back to 13 bits each. What leaves at the top comes in again at the
 * bottom, where limb 1 may keep a small excess. */
static void carry(struct field *x)
{
    uint32_t excess = 0;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        uint32_t sum = x->limb[i] + excess;
        x->limb[i] = sum & LIMB_MASK;
        excess = sum >> LIMB_BITS;
    }
    uint32_t bottom = x->limb[0] + WRAP * excess;
    x->limb[0] = bottom & LIMB_MASK;
    x->limb[1] += bottom >> LIMB_BITS;
}

void field_add(struct field *out, const struct field *a, const struct field *b)
{
    for (int i = 0; i < FIELD_LIMBS; i++) {
        out->limb[i] = a->limb[i] + b->limb[i];
    }
    carry(out);
}

/* Adds 64 p = 2^261 - 1216 first, spread so that no limb can go below zero. */
void field_subtract(struct field *out, const struct field *a, const struct field *b)
{
    out->limb[0] = a->limb[0] + 2 * (LIMB_MASK + 1 - WRAP) - b->limb[0];
    for (int i = 1; i < FIELD_LIMBS; i++) {
        out->limb[i] = a->limb[i] + 2 * LIMB_MASK - b->limb[i];
    }
    carry(out);
}

/* Schoolbook: 20 * FIELD_LIMB_MAX^2 is below 2^31. */
void field_multiply(struct field *out, const struct field *a, const struct field *b)
{
    uint32_t column[2 * FIELD_LIMBS] = {0};
    for (int i = 0; i < FIELD_LIMBS; i++) {
        uint32_t factor = a->limb[i];
        for (int j = 0; j < FIELD_LIMBS; j++) {
            column[i + j] += factor * b->limb[j];
        }
    }
    uint32_t excess = 0;
    for (int i = 0; i < 2 * FIELD_LIMBS; i++) {
        uint32_t sum = column[i] + excess;
        column[i] = sum & LIMB_MASK;
        excess = sum >> LIMB_BITS;
    }
    for (int i = 0; i < FIELD_LIMBS; i++) {
        out->limb[i] = column[i] + WRAP * column[i + FIELD_LIMBS];
    }
    carry(out);
}

void field_scale(struct field *out, const struct field *a, uint32_t factor)
{
    for (int i = 0; i < FIELD_LIMBS; i++) {
        out->limb[i] = a->limb[i] * factor;
    }
    carry(out);
    carry(out); /* the first one may leave two bits too many in limb 1 */
}

/* Fermat: a^(p-2), and all 255 bits of p - 2 = 2^255 - 21 are ones but bits 2 and 4. */
void field_invert(struct field *out, const struct field *a)
{
    struct field power = *a;
    for (int bit = 253; bit >= 0; bit--) {
        field_multiply(&power, &power, &power);
        if (bit != 2 && bit != 4) {
            field_multiply(&power, &power, a);
        }
    }
    *out = power;
}

void field_swap_if(struct field *a, struct field *b, uint32_t swap)
{
    uint32_t mask = 0 - swap;
    for (int i = 0; i < FIELD_LIMBS; i++) {
        uint32_t difference = (a->limb[i] ^ b->limb[i]) & mask;
        a->limb[i] ^= difference;
        b->limb[i] ^= difference;
    }
}

void field_from_bytes(struct field *out, const uint8_t bytes[32])
{
    uint32_t pending = 0, bits = 0;
    int limb = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t byte = i == 31 ? bytes[i] & 0x7f : bytes[i];
        pending |= byte << bits;
        bits += 8;
        if (bits >= LIMB_BITS) {
            out->limb[limb++] = pending & LIMB_MASK;
            pending >>= LIMB_BITS;
            bits -= LIMB_BITS;
        }
    }
    out->limb[limb] = pending;
}

/* Takes out multiples of 2^255: limb 19 holds bits 247 to 259. */
static void fold_top(struct field *x)
{
    x->limb[0] += 19 * (x->limb[FIELD_LIMBS - 1] >> 8);
    x->limb[FIELD_LIMBS - 1] &= 0xff;
    carry(x);
}

void field_to_bytes(uint8_t bytes[32], const struct field *in)
{
    struct field x = *in;
    carry(&x);
    carry(&x);
    fold_top(&x);
    fold_top(&x);

    /* Now below 2^255. If adding 19 reaches 2^255, it was p or more and the sum is the answer. */
    struct field reduced = x;
    reduced.limb[0] += 19;
    carry(&reduced);
    uint32_t at_least_p = reduced.limb[FIELD_LIMBS - 1] >> 8 & 1;
    reduced.limb[FIELD_LIMBS - 1] &= 0xff;
    field_swap_if(&x, &reduced, at_least_p);

    uint32_t pending = 0, bits = 0;
    int limb = 0;
    for (int i = 0; i < 32; i++) {
        if (bits < 8) {
            pending |= x.limb[limb++] << bits;
            bits += LIMB_BITS;
        }
        bytes[i] = (uint8_t)pending;
        pending >>= 8;
        bits -= 8;
    }
}
