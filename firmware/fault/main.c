/* A HardFault three calls deep: a word is read from an odd address, which ARMv6-M never allows.
 *
 * It stays in the kit's default handler, as most firmware does. */
#include <stdint.h>

static const uint8_t packet[] = {0x01, 0x10, 0x00, 0x00, 0x00, 0x2a, 0x00, 0x00};
volatile uint32_t payload_length;

/* Each caller still has work to do after its call, so every one of them keeps a frame. */
__attribute__((noipa)) static uint32_t read_length_field(const uint8_t *field)
{
    return *(const volatile uint32_t *)(uintptr_t)field;
}

__attribute__((noipa)) static uint32_t parse_header(const uint8_t *bytes)
{
    return read_length_field(bytes + 1) + 4;
}

__attribute__((noipa)) static uint32_t handle_packet(const uint8_t *bytes)
{
    return parse_header(bytes) * 2;
}

int main(void)
{
    payload_length = handle_packet(packet);
    return 0;
}
