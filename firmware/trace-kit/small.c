/* The kit for the target on chips and ways of all kinds: rounds of a timed region, two values and a mark, with a line of text now and then.
 * What the chip has to do with it is in port.h and the port's own file. */
#include "port.h"
#include "trace/strobe_trace.h"

#define ROUNDS 40

#define ROUND 1
#define WORK 2
#define LEVEL 3
#define ERROR 4
#define DONE 5
#define LOG 6
STROBE_NAME(ROUND, "round");
STROBE_NAME(WORK, "work");
STROBE_NAME(LEVEL, "level");
STROBE_NAME(ERROR, "error");
STROBE_NAME(DONE, "done");
STROBE_NAME(LOG, "log");

/* Longer from round to round. */
__attribute__((noinline)) uint16_t work(uint8_t round)
{
    uint16_t sum = round;
    for (volatile uint16_t n = 0; n < 200u + 4u * round; n++) {
        sum = (uint16_t)(sum * 31u + n);
    }
    return sum;
}

int main(void)
{
    port_start();
    STROBE_START();
    for (uint8_t round = 0; round < ROUNDS; round++) {
        STROBE_BEGIN(ROUND);
        STROBE_BEGIN(WORK);
        uint16_t level = work(round);
        STROBE_END(WORK);
        STROBE_VALUE(LEVEL, level);
        STROBE_SIGNED(ERROR, -(int16_t)round);
        STROBE_MARK(DONE);
        STROBE_END(ROUND);
        if (round % 8 == 0) {
            STROBE_WRITE(LOG, "on\n", 3);
        }
    }
    port_finish();
    return 0;
}
