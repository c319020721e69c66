// What goes over the line between player and cube: 500 kbit/s, eight bits, no parity, one stop bit.
//
// A frame is 672 bytes: start mark, its number (two bytes, the low one first), 666 bytes of brightness, two sums, end mark.
// The sums begin at 0 and go over number and brightness: `a` adds up the bytes, `b` adds up `a` after each byte, both
// modulo 256. Files of frames on the player's card are these bytes, one frame after the other.
//
// Brightness is four bits for each LED, the low half of a byte first: eleven layers of eleven rows of eleven, without
// gaps, so that every second layer begins in the middle of a byte; the last half byte is unused.
//
// The cube answers a frame that it cannot use with one byte, and a good one with nothing.

#ifndef PROTOCOL_H
#define PROTOCOL_H

#define BAUD 500000UL

#define SIDE 11
#define LAYER_LEDS (SIDE * SIDE)
#define FRAME_DATA ((SIDE * LAYER_LEDS + 1) / 2)

#define START_MARK 0xA5
#define END_MARK 0x5A
#define FRAME_BYTES (1 + 2 + FRAME_DATA + 2 + 1)

#define ERROR_SUM 'S'    // the sums are wrong
#define ERROR_END 'E'    // no end mark where it should be
#define ERROR_BROKEN 'T' // nothing came for 4 ms in the middle of a frame
#define ERROR_BUSY 'B'   // the frame before has not been taken over yet

#endif
