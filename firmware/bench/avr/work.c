/* What firmware/work-avr does, over and over: sorting, recursion, tables, division, floating point, printf. */
#include <avr/interrupt.h>
#include <avr/sleep.h>

/* The main of firmware/work-avr/main.c. */
int once(void);

enum { TURNS = 750 };

int main(void)
{
    for (unsigned turn = 0; turn < TURNS; turn++)
        once();
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
