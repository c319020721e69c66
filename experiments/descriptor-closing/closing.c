// Closes all descriptors from 3 up to a limit, as a program does before it starts another one.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count != 3) return 64;
    const unsigned limit = (unsigned)strtoul(arguments[2], NULL, 10);
    unsigned long calls = 0;
    if (!strcmp(arguments[1], "each")) {
        for (unsigned fd = 3; fd < limit; fd++, calls++) close((int)fd);
    } else if (!strcmp(arguments[1], "range")) {
        if (syscall(SYS_close_range, 3u, limit - 1, 0u)) return 1;
        calls = 1;
    } else if (strcmp(arguments[1], "none")) {
        return 64;
    }
    printf("system-calls %lu\nclosed up to %u\n", calls, limit);
    return 0;
}
