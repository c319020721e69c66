// SD cards in SPI mode (SD Physical Layer Simplified Specification, chapter 7). Clock at PB1, data to the card at PB2, from it
// at PB3, CS at PB0.

#include <avr/io.h>

#include "card.h"

#define SLOW (_BV(SPE) | _BV(MSTR) | _BV(SPR1)) // 250 kHz, at most 400 while the card wakes up
#define FAST (_BV(SPE) | _BV(MSTR))             // 8 MHz with SPI2X

#define GO_IDLE 0
#define INTERFACE_CONDITION 8
#define STOP 12
#define BLOCK_LENGTH 16
#define READ_SEVERAL 18
#define START 41
#define APPLICATION 55
#define OPERATING_CONDITIONS 58

#define IDLE 0x01
#define ILLEGAL 0x04
#define NOTHING 0xFF
#define START_BLOCK 0xFE

static bool byte_addresses;

static uint8_t exchange(uint8_t byte)
{
    SPDR = byte;
    while (!(SPSR & _BV(SPIF)))
        ;
    return SPDR;
}

uint8_t card_byte(void)
{
    return exchange(NOTHING);
}

// Sends a command and returns R1, or NOTHING if no answer comes in eight bytes. Only the two commands that come before check
// sums can be switched off need one.
static uint8_t command(uint8_t number, uint32_t argument)
{
    exchange(0x40 | number);
    exchange(argument >> 24);
    exchange(argument >> 16);
    exchange(argument >> 8);
    exchange(argument);
    exchange(number == GO_IDLE ? 0x95 : 0x87);
    if (number == STOP)
        card_byte();
    uint8_t answer = NOTHING;
    for (uint8_t i = 0; i < 9 && answer == NOTHING; i++)
        answer = card_byte();
    return answer;
}

// The four bytes behind R1.
static uint32_t more(void)
{
    uint32_t value = 0;
    for (uint8_t i = 0; i < 4; i++)
        value = value << 8 | card_byte();
    return value;
}

static bool wake_up(void)
{
    uint8_t tries = 0;
    while (command(GO_IDLE, 0) != IDLE)
        if (++tries == 100)
            return false;
    uint32_t high_capacity = 0;
    if (!(command(INTERFACE_CONDITION, 0x1AA) & ILLEGAL)) {
        if ((more() & 0xFFF) != 0x1AA)
            return false;
        high_capacity = 1UL << 30;
    }
    // Cards may take a second; one round takes more than half a millisecond.
    for (uint16_t rounds = 0; rounds < 2000; rounds++) {
        command(APPLICATION, 0);
        if (command(START, high_capacity) == 0) {
            byte_addresses = true;
            if (high_capacity && command(OPERATING_CONDITIONS, 0) == 0)
                byte_addresses = !(more() >> 30 & 1);
            return !byte_addresses || command(BLOCK_LENGTH, 512) == 0;
        }
    }
    return false;
}

bool card_begin(void)
{
    SPCR = SLOW;
    SPSR = 0;
    PORTB |= _BV(PORTB0);
    for (uint8_t i = 0; i < 10; i++) // 74 clocks at least
        card_byte();
    PORTB &= ~_BV(PORTB0);
    if (!wake_up())
        return false;
    SPCR = FAST;
    SPSR = _BV(SPI2X);
    return true;
}

bool card_start(uint32_t block)
{
    return command(READ_SEVERAL, byte_addresses ? block * 512 : block) == 0;
}

bool card_begin_block(void)
{
    // 100 ms, the longest that a read may take, are at most 50000 bytes.
    for (uint16_t i = 0; i < 50000; i++) {
        uint8_t byte = card_byte();
        if (byte != NOTHING)
            return byte == START_BLOCK;
    }
    return false;
}

void card_end_block(void)
{
    card_byte(); // the check sum
    card_byte();
}

void card_stop(void)
{
    command(STOP, 0);
}
