// An SD card on the SPI: from power-up to a stream of bytes.

#ifndef CARD_H
#define CARD_H

#include <stdbool.h>
#include <stdint.h>

// Wakes the card up. Returns false if there is none or it is none that we know.
bool card_begin(void);

// Has the card send blocks from that number on.
bool card_start(uint32_t block);

// Waits for a block to begin: 512 bytes come, then `card_end_block`.
bool card_begin_block(void);
void card_end_block(void);

// No more blocks; also in the middle of one.
void card_stop(void);

// The next byte. Between calls the card's clock stands still for as long as it likes us to.
uint8_t card_byte(void);

#endif
