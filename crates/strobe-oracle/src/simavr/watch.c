// Runs a flat flash image on simavr in simavr's own loop, and afterwards prints what was to be seen from outside.
//
//     watch MCU IMAGE HZ CYCLES [plain|edges]
//
// Lines, in order of time: "edge CYCLE PORT BIT LEVEL", "uart CYCLE BYTE", "spi CYCLE BYTE", for what ports, USART 0 and SPI do.
// The last one is "end CYCLE". With `plain` there is only that: nothing is hooked up, so that the time is simavr's alone.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <avr_ioport.h>
#include <avr_spi.h>
#include <avr_uart.h>
#include <sim_avr.h>

static avr_t *avr;

static void be_quiet(avr_t *core, const int level, const char *format, va_list arguments)
{
    (void)core, (void)level, (void)format, (void)arguments;
}

static void do_not_sleep(avr_t *core, avr_cycle_count_t cycles)
{
    (void)core, (void)cycles;
}

static void on_edge(avr_irq_t *irq, uint32_t value, void *port)
{
    printf("edge %llu %c %d %d\n", (unsigned long long)avr->cycle, (char)(size_t)port, irq->irq, (int)(value & 1));
}

static void on_byte(avr_irq_t *irq, uint32_t value, void *name)
{
    (void)irq;
    printf("%s %llu %d\n", (const char *)name, (unsigned long long)avr->cycle, (int)(value & 0xff));
}

static void hook_up(void)
{
    for (char port = 'A'; port <= 'L'; port++)
        for (int bit = 0; bit < 8; bit++) {
            avr_irq_t *irq = avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ(port), bit);
            if (irq)
                avr_irq_register_notify(irq, on_edge, (void *)(size_t)port);
        }
    avr_irq_t *uart = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT);
    if (uart)
        avr_irq_register_notify(uart, on_byte, "uart");
    avr_irq_t *spi = avr_io_getirq(avr, AVR_IOCTL_SPI_GETIRQ(0), SPI_IRQ_OUTPUT);
    if (spi)
        avr_irq_register_notify(spi, on_byte, "spi");
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: watch MCU IMAGE HZ CYCLES plain|edges\n");
        return 2;
    }
    avr_global_logger_set(be_quiet);
    avr = avr_make_mcu_by_name(argv[1]);
    FILE *image = fopen(argv[2], "rb");
    if (!avr || !image) {
        fprintf(stderr, "watch: %s\n", avr ? "cannot read the image" : "no such MCU");
        return 2;
    }
    avr_init(avr);
    avr->frequency = (uint32_t)strtoul(argv[3], NULL, 0);
    avr->sleep = do_not_sleep;
    size_t size = fread(avr->flash, 1, avr->flashend + 1, image);
    avr->codeend = avr->flashend;
    fclose(image);
    if (size == 0)
        return 2;
    // Neither lines on standard output nor naps while the firmware polls.
    uint32_t flags = 0;
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    if (strcmp(argv[5], "edges") == 0)
        hook_up();
    unsigned long long limit = strtoull(argv[4], NULL, 0);
    int state = cpu_Running;
    while (avr->cycle < limit && state != cpu_Done && state != cpu_Crashed)
        state = avr_run(avr);
    printf("end %llu\n", (unsigned long long)avr->cycle);
    return 0;
}
