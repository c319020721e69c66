// Runs a flat flash image on simavr and writes the state after every instruction to standard output.
//
//     trace MCU IMAGE STEPS [DATA-ADDRESS...]
//
// Each step is one record, little-endian: program counter in bytes (4), cycles (8), stack pointer (2), SREG (1), R0 to
// R31, and the bytes at the data addresses named. It ends after so many steps, when the program is done for simavr
// or has crashed, or behind a jump to itself. Then comes the whole data space, after a record whose program counter is
// 0xffffffff and whose cycles are the data space's size.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim_avr.h>
#include <sim_core.h>

static void be_quiet(avr_t *avr, const int level, const char *format, va_list arguments)
{
    (void)avr, (void)level, (void)format, (void)arguments;
}

static void do_not_sleep(avr_t *avr, avr_cycle_count_t cycles)
{
    (void)avr, (void)cycles;
}

static void put(uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        putchar((int)(value >> 8 * i & 0xff));
}

static uint8_t sreg(const avr_t *avr)
{
    uint8_t value = 0;
    for (int bit = 0; bit < 8; bit++)
        value |= (uint8_t)((avr->sreg[bit] & 1) << bit);
    return value;
}

static void record(const avr_t *avr, int count, char **addresses)
{
    put(avr->pc, 4);
    put(avr->cycle, 8);
    put(avr->data[R_SPL], 1);
    put(avr->data[R_SPH], 1);
    put(sreg(avr), 1);
    fwrite(avr->data, 1, 32, stdout);
    for (int i = 0; i < count; i++)
        put(avr->data[strtoul(addresses[i], NULL, 0)], 1);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: trace MCU IMAGE STEPS [DATA-ADDRESS...]\n");
        return 2;
    }
    avr_global_logger_set(be_quiet);
    avr_t *avr = avr_make_mcu_by_name(argv[1]);
    FILE *image = fopen(argv[2], "rb");
    if (!avr || !image) {
        fprintf(stderr, "trace: %s\n", avr ? "cannot read the image" : "no such MCU");
        return 2;
    }
    avr_init(avr);
    avr->frequency = 16000000;
    avr->sleep = do_not_sleep;
    size_t size = fread(avr->flash, 1, avr->flashend + 1, image);
    avr->codeend = avr->flashend;
    fclose(image);
    if (size == 0)
        return 2;
    unsigned long long steps = strtoull(argv[3], NULL, 0);
    for (; steps > 0; steps--) {
        avr_flashaddr_t before = avr->pc;
        avr->run_cycle_limit = 1;
        avr->run_cycle_count = 1;
        int state = avr_run(avr);
        record(avr, argc - 4, argv + 4);
        if (state == cpu_Done || state == cpu_Crashed || avr->pc == before)
            break;
    }
    put(0xffffffff, 4);
    put(avr->ramend + 1u, 8);
    fwrite(avr->data, 1, avr->ramend + 1u, stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
