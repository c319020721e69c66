/* newlib's standard streams and exit through semihosting. */
#include <string.h>
#include <unistd.h>

#include "semihosting.h"

__attribute__((noinline)) int semihosting_call(int operation, uintptr_t argument)
{
    register int r0 __asm__("r0") = operation;
    register uintptr_t r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void semihosting_print(const char *text)
{
    semihosting_call(SYS_WRITE0, (uintptr_t)text);
}

int semihosting_clock(void)
{
    return semihosting_call(SYS_CLOCK, 0);
}

/* The name ":tt" is the console; the mode, an index into fopen's modes, says which of its
 * three streams: 0 is "r", 4 is "w", 8 is "a". */
static int console_handle(int file)
{
    static int handles[3]; /* host handle + 1, so that 0 means not yet opened */
    static const uintptr_t modes[3] = {0, 4, 8};
    if (handles[file] == 0) {
        const char *name = ":tt";
        uintptr_t request[3] = {(uintptr_t)name, modes[file], strlen(name)};
        handles[file] = semihosting_call(SYS_OPEN, (uintptr_t)request) + 1;
    }
    return handles[file] - 1;
}

/* SYS_READ and SYS_WRITE return how many bytes were *not* transferred. */
static int transfer(int operation, int file, uintptr_t bytes, int count)
{
    if (file < 0 || file > 2) {
        return -1;
    }
    uintptr_t request[3] = {(uintptr_t)console_handle(file), bytes, (uintptr_t)count};
    return count - semihosting_call(operation, (uintptr_t)request);
}

int _write(int file, const char *bytes, int count)
{
    return transfer(SYS_WRITE, file, (uintptr_t)bytes, count);
}

int _read(int file, char *bytes, int count)
{
    return transfer(SYS_READ, file, (uintptr_t)bytes, count);
}

_Noreturn void _exit(int code)
{
    uintptr_t request[2] = {ADP_STOPPED_APPLICATION_EXIT, (uintptr_t)code};
    semihosting_call(SYS_EXIT_EXTENDED, (uintptr_t)request);
    for (;;) {
    }
}
