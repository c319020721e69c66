/* A picture for a display on three wires, by three drivers that differ in nothing but how nine bits get onto the wires. Rows
 * are made in two buffers in turn: while DMA sends one, the processor makes the next; the other drivers send first.
 *
 * draw() is all 76,800 pixels, from the window to the last bit. Then some pixels are read back, one by one, and compared. */
#include <stdio.h>

#include "cortex_m0.h"
#include "display.h"

static uint16_t rows[2][2 * WIDTH];

/* Five bits of red, six of green, five of blue. */
static inline uint32_t colour(uint32_t x, uint32_t y)
{
    return ((x ^ y) & 31) << 11 | ((x + y) & 63) << 5 | (y & 31);
}

static void send_command(enum command command, const uint8_t *parameters, unsigned count)
{
    uint16_t words[5];
    words[0] = (uint16_t)command;
    for (unsigned i = 0; i < count; i++) {
        words[i + 1] = DATA | parameters[i];
    }
    select_display();
    wires_send(words, count + 1);
    wires_finish();
    deselect_display();
}

static void set_range(enum command command, unsigned from, unsigned to)
{
    const uint8_t range[] = {(uint8_t)(from >> 8), (uint8_t)from, (uint8_t)(to >> 8), (uint8_t)to};
    send_command(command, range, sizeof range);
}

static void set_window(unsigned x, unsigned y, unsigned width, unsigned height)
{
    set_range(CASET, x, x + width - 1);
    set_range(RASET, y, y + height - 1);
}

__attribute__((noipa)) static void make_row(uint16_t *words, unsigned y)
{
    for (unsigned x = 0; x < WIDTH; x++) {
        uint32_t pixel = colour(x, y);
        *words++ = (uint16_t)(DATA | pixel >> 8);
        *words++ = (uint16_t)(DATA | (pixel & 0xff));
    }
}

__attribute__((noipa)) static void draw(void)
{
    static const uint16_t write = RAMWR;
    set_window(0, 0, WIDTH, HEIGHT);
    select_display();
    wires_send(&write, 1);
    for (unsigned y = 0; y < HEIGHT; y++) {
        make_row(rows[y & 1], y);
        wires_send(rows[y & 1], 2 * WIDTH);
    }
    wires_finish();
    deselect_display();
}

__attribute__((noipa)) static void drawn(void) {}

/* What the display makes of a colour: six bits of each, in bytes from the left. */
static uint32_t as_read(uint32_t pixel)
{
    uint32_t red = pixel >> 11, green = pixel >> 5 & 63, blue = pixel & 31;
    return (red << 1 | red >> 4) << 18 | green << 10 | (blue << 1 | blue >> 4) << 2;
}

__attribute__((noipa)) static unsigned read_back(unsigned count)
{
    unsigned right = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned x = i * 37 % WIDTH, y = i * 59 % HEIGHT;
        set_window(x, y, 1, 1);
        right += read_answer(RAMRD, 9) == as_read(colour(x, y));
    }
    return right;
}

/* At least so long: a loop of four cycles or more. */
static void wait_ms(unsigned ms)
{
    for (volatile unsigned i = ms * (CPU_HZ / 1000 / 4); i > 0; i--) {
    }
}

int main(void)
{
    clock_to_48mhz(PREFETCH_ON);
    RCC->ahbenr |= RCC_AHBENR_IOPBEN;
    deselect_display();
    pin_output(GPIOB, CS_PIN);
    wires_begin();
    usart1_start(921600);

    wait_ms(5);
    send_command(SLPOUT, 0, 0);
    wait_ms(5);
    static const uint8_t rgb565 = 5;
    send_command(COLMOD, &rgb565, 1);
    send_command(DISPON, 0, 0);

    draw();
    drawn();
    printf("display %06lx: ", (unsigned long)read_answer(RDDID, 1));
    printf("%u of 100 pixels read back as they were written\n", read_back(100));
    usart1_drain();
    /* Until it has been seen. */
    wait_ms(17);
    return 0;
}
