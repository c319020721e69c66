/* What newlib asks of an operating system, for a machine with one console and one heap.
 * The console itself is the program's choice: console_usart1.c or console_semihosting.c. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

extern char _heap_start[], _heap_end[];

void *_sbrk(ptrdiff_t increment)
{
    static char *end = _heap_start;
    if (increment > _heap_end - end) {
        errno = ENOMEM;
        return (void *)-1;
    }
    char *previous = end;
    end += increment;
    return previous;
}

/* Files 0, 1 and 2 are the console, and there are no others. */
int _fstat(int file, struct stat *status)
{
    (void)file;
    status->st_mode = S_IFCHR;
    return 0;
}

/* Saying yes makes newlib write whole lines at a time. */
int _isatty(int file)
{
    return file <= 2;
}

off_t _lseek(int file, off_t offset, int whence)
{
    (void)file;
    (void)offset;
    (void)whence;
    errno = ESPIPE;
    return -1;
}

int _close(int file)
{
    (void)file;
    return 0;
}

int _getpid(void)
{
    return 1;
}

int _kill(int process, int signal)
{
    (void)process;
    _exit(128 + signal);
}
