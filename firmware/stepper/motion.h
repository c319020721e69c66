/* The path and how to walk it: three axes, one step decision per axis and tick.
 *
 * Plain arithmetic that knows no registers, so it can be read and timed on its own. */
#ifndef STEPPER_MOTION_H
#define STEPPER_MOTION_H

#include <stdbool.h>
#include <stdint.h>

#define AXES 3

/* A straight line: how far each axis goes, in steps, signed. */
struct line {
    int16_t steps[AXES];
};

/* Speeds are fractions of a step per tick, scaled by 2^32: an axis steps whenever its accumulator
 * overflows, so 0x80000000 is every second tick. */
struct motion {
    const struct line *next;     /* lines still to come */
    unsigned lines_left;
    uint32_t distance[AXES];     /* of the current line, without sign */
    uint32_t error[AXES];        /* Bresenham: grows by distance[axis] with every step of the line */
    uint32_t leading;            /* the longest of the distances: one step of the line each */
    uint32_t done;               /* steps of the line taken */
    uint32_t speed;
    uint32_t cruise_speed;       /* of the leading axis, so that the tool's speed is the same in every
                                    direction */
    uint32_t phase;
    uint32_t ramp_up_steps;      /* what speeding up took, and so what slowing down will take */
    uint8_t backward;            /* bit per axis */
    int32_t position[AXES];
};

void motion_start(struct motion *motion, const struct line *lines, unsigned count);

bool motion_finished(const struct motion *motion);

/* One tick: returns the axes that step now, a bit each. */
unsigned motion_tick(struct motion *motion);

#endif
