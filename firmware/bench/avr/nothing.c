/* Ends at once: running it takes what starting and ending takes. */
#include <avr/interrupt.h>
#include <avr/sleep.h>

int main(void)
{
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
