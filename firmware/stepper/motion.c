#include "motion.h"

#define FULL_SPEED 0x90000000u   /* 0.56 steps per tick: 11 250 steps/s at 20 kHz */
#define START_SPEED 0x08000000u  /* 625 steps/s: slow enough to start from standstill */
#define ACCELERATION 0x00b00000u /* reaches full speed in 198 ticks, 10 ms */

static uint32_t magnitude(int16_t steps)
{
    return steps < 0 ? (uint32_t)-steps : (uint32_t)steps;
}

/* Integer square root, a bit at a time. */
__attribute__((noipa)) static uint32_t square_root(uint32_t square)
{
    uint32_t root = 0;
    for (uint32_t bit = 1u << 15; bit != 0; bit >>= 1) {
        if ((root + bit) * (root + bit) <= square) {
            root += bit;
        }
    }
    return root;
}

/* The tool goes at FULL_SPEED along the line, so the leading axis alone is slower than that. */
__attribute__((noipa)) static uint32_t cruise_speed(const struct motion *motion)
{
    uint32_t square = 0;
    for (int axis = 0; axis < AXES; axis++) {
        square += motion->distance[axis] * motion->distance[axis];
    }
    return (uint32_t)((uint64_t)FULL_SPEED * motion->leading / square_root(square));
}

/* The expensive tick: square root and division, once per line, and it must fit as well. */
__attribute__((noipa)) static void begin_line(struct motion *motion)
{
    const struct line *line = motion->next++;
    motion->lines_left--;
    motion->leading = 0;
    motion->backward = 0;
    for (int axis = 0; axis < AXES; axis++) {
        motion->distance[axis] = magnitude(line->steps[axis]);
        motion->backward |= (uint8_t)((line->steps[axis] < 0) << axis);
        if (motion->distance[axis] > motion->leading) {
            motion->leading = motion->distance[axis];
        }
    }
    for (int axis = 0; axis < AXES; axis++) {
        motion->error[axis] = motion->leading / 2;
    }
    motion->done = 0;
    motion->speed = START_SPEED;
    motion->cruise_speed = cruise_speed(motion);
    motion->phase = 0;
    motion->ramp_up_steps = 0;
}

/* A trapezoid without division: slow down when as many steps are left as speeding up took. */
__attribute__((noipa)) static void update_speed(struct motion *motion)
{
    uint32_t left = motion->leading - motion->done;
    if (left <= motion->ramp_up_steps) {
        if (motion->speed > START_SPEED + ACCELERATION) {
            motion->speed -= ACCELERATION;
        }
    } else if (motion->speed < motion->cruise_speed) {
        motion->speed += ACCELERATION;
    }
}

/* One step along the leading axis; the others follow as Bresenham's line does. */
__attribute__((noipa)) static unsigned step_line(struct motion *motion)
{
    unsigned stepping = 0;
    for (int axis = 0; axis < AXES; axis++) {
        motion->error[axis] += motion->distance[axis];
        if (motion->error[axis] >= motion->leading) {
            motion->error[axis] -= motion->leading;
            motion->position[axis] += motion->backward >> axis & 1 ? -1 : 1;
            stepping |= 1u << axis;
        }
    }
    motion->done++;
    if (motion->speed < motion->cruise_speed && 2 * motion->done <= motion->leading) {
        motion->ramp_up_steps = motion->done;
    }
    return stepping;
}

void motion_start(struct motion *motion, const struct line *lines, unsigned count)
{
    *motion = (struct motion){.next = lines, .lines_left = count};
}

bool motion_finished(const struct motion *motion)
{
    return motion->lines_left == 0 && motion->done == motion->leading;
}

unsigned motion_tick(struct motion *motion)
{
    if (motion->done == motion->leading) {
        if (motion->lines_left == 0) {
            return 0;
        }
        begin_line(motion);
    }
    update_speed(motion);
    uint32_t before = motion->phase;
    motion->phase += motion->speed;
    bool overflowed = motion->phase < before;
    return overflowed ? step_line(motion) : 0;
}
