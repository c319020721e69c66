/* From reset to main: copy .data, clear .bss, go. No static constructors: this kit is C only. */
#include <stdint.h>
#include <unistd.h>

extern uint32_t _data_load[], _data_start[], _data_end[], _bss_start[], _bss_end[];

int main(void);

_Noreturn void Reset_Handler(void)
{
    const uint32_t *from = _data_load;
    for (uint32_t *to = _data_start; to < _data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = _bss_start; to < _bss_end;) {
        *to++ = 0;
    }
    _exit(main());
}
