/* Numbers modulo p = 2^255 - 19, for a processor that multiplies 32 by 32 bits into 32. */
#ifndef X25519_FIELD_H
#define X25519_FIELD_H

#include <stdint.h>

#define FIELD_LIMBS 20

/* Twenty limbs of 13 bits, least significant first: a product of two limbs has 26 bits, so a whole
 * column of twenty products fits 32 bits and no 64-bit helper is ever called. Between operations
 * limbs may be up to FIELD_LIMB_MAX, a little over 13 bits. Values are not unique before
 * field_to_bytes: 2^260 wraps round as 32 * 19. */
struct field {
    uint32_t limb[FIELD_LIMBS];
};
#define FIELD_LIMB_MAX 8240u

/* 32 bytes, little endian; the top bit is ignored (RFC 7748, section 5). */
void field_from_bytes(struct field *out, const uint8_t bytes[32]);

/* The one value below p, little endian. */
void field_to_bytes(uint8_t bytes[32], const struct field *in);

/* `out` may be one of the operands. */
void field_add(struct field *out, const struct field *a, const struct field *b);
void field_subtract(struct field *out, const struct field *a, const struct field *b);
void field_multiply(struct field *out, const struct field *a, const struct field *b);

/* `factor` below 2^17. */
void field_scale(struct field *out, const struct field *a, uint32_t factor);

/* 1 / a; 0 for 0. */
void field_invert(struct field *out, const struct field *a);

/* Exchanges a and b if `swap` is 1, leaves them if it is 0, in the same time. */
void field_swap_if(struct field *a, struct field *b, uint32_t swap);

#endif
