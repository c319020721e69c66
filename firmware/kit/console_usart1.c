/* newlib's standard streams on USART1; nothing ever arrives there. */
#include <unistd.h>

#include "board.h"

int _write(int file, const char *bytes, int count)
{
    (void)file;
    usart1_send(bytes, (unsigned)count);
    return count;
}

int _read(int file, char *bytes, int count)
{
    (void)file;
    (void)bytes;
    (void)count;
    return 0;
}
