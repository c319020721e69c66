// What the C and the assembly of the cube share: wiring and sizes. Included by both.
//
// Eight TLC5940 in a chain: SIN and SCLK are the SPI's MOSI (PB3) and SCK (PB5). GSCLK is half the oscillator's 16 MHz,
// made by a flip-flop beside the chip, so that no timer is needed for it. The layers' transistors are at PC0 to PC5 and
// PD2 to PD6.

#ifndef CUBE_H
#define CUBE_H

#include "protocol.h"

#define XLAT 1  // PB1
#define BLANK 2 // PB2
#define TAKEN 7 // PD7, a test point: high for one layer with each frame that is taken over

#define REFRESH_CYCLES 8192 // 4096 clocks of GSCLK
#define PAIRS 64            // 128 outputs of twelve bits, three bytes for two

#endif
