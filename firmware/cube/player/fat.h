// Reads one file from a FAT16 or FAT32 volume of which it is given one byte after the other. It keeps no block and does no
// input or output: whoever has the card feeds it the bytes of block `fat_block` and of those behind it, until it says that it
// wants to go on elsewhere.

#ifndef FAT_H
#define FAT_H

#include <stdint.h>

// What `fat_byte` says of a byte.
#define FAT_DATA 1   // it belongs to the file
#define FAT_JUMP 2   // the next byte wanted is the first of `fat_block`
#define FAT_FAILED 4 // not such a volume, no such file, or a chain that leads nowhere

extern uint32_t fat_block;

// Starts over with a new card. `whole` is what the file is a multiple of: an odd rest is not read.
void fat_begin(uint16_t whole);

// Takes the next byte. At the file's end it begins anew.
uint8_t fat_byte(uint8_t byte);

#endif
