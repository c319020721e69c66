/* How a program without a debugger ends: asleep, at a name a profiler can stop at. A
 * semihosting exit would be a HardFault on a board with nothing attached. */
#include <unistd.h>

#include "board.h"
#include "cortex_m0.h"

__attribute__((noinline)) _Noreturn void finished(void)
{
    for (;;) {
        wait_for_interrupt();
    }
}

_Noreturn void _exit(int code)
{
    (void)code;
    finished();
}
