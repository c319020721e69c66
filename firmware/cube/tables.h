// Tables that the refresh reads; see tables.c.

#ifndef TABLES_H
#define TABLES_H

#include <stdint.h>

#include "cube.h"

extern const uint8_t order_of_outputs[2 * PAIRS];
extern const uint8_t pins_of_layers[SIDE][2];
extern uint8_t levels[4][16];

#endif
