/* Benchmarks that strobe runs on a simulated board: docs/bench.md. Nothing is to be called, printed or linked.
 *
 *     #include "trace/strobe_bench.h"
 *
 *     STROBE_BENCH(sort, 16, 64, 256)          // a name, and what `n` is in each row; without any, n is 0
 *     {
 *         sort(values, n);
 *     }
 *     STROBE_BENCH_SETUP(sort)                 // if wanted: called before each call, and not measured
 *     {
 *         fill(values, n);
 *     }
 *     STROBE_BENCH_CALLS(sort, 3);             // if wanted: so many calls for each input on one board, 1 to 1000
 *
 * and `strobe bench firmware.elf`. Inputs are whole numbers of 32 bits, or macros that are some, since the assembler has to read them.
 * A function whose result nobody uses is left out by the compiler: STROBE_KEEP(crc(data, n)) uses it.
 *
 * Without -DSTROBE_BENCHMARKS=1 nothing of this is in the program. With it, there are the functions; what describes them has no address and is
 * in the ELF file only. It is a list of ELF notes, because linkers keep notes and what they refer to: type 0x101 has function, bytes of
 * inputs, inputs, name; 0x102 function and name; 0x103 a number and a name. */
#ifndef STROBE_BENCH_H
#define STROBE_BENCH_H

#include <stdint.h>

#ifndef STROBE_BENCHMARKS
#define STROBE_BENCHMARKS 0
#endif

#if STROBE_BENCHMARKS

#define STROBE_BENCH(name, ...)                                                                    \
    void strobe_bench_##name(uint32_t n);                                                          \
    STROBE_BENCH_NOTE(0x101,                                                                       \
                      ".4byte strobe_bench_" #name ", 94f - 93f\n"                                 \
                      "93: .4byte " STROBE_BENCH_TEXT(__VA_ARGS__) "\n94:\n",                      \
                      #name);                                                                      \
    __attribute__((used, noinline)) void strobe_bench_##name(uint32_t n __attribute__((unused)))

#define STROBE_BENCH_SETUP(name)                                                                   \
    void strobe_bench_setup_##name(uint32_t n);                                                    \
    STROBE_BENCH_NOTE(0x102, ".4byte strobe_bench_setup_" #name "\n", #name);                      \
    __attribute__((used, noinline)) void strobe_bench_setup_##name(                                \
        uint32_t n __attribute__((unused)))

#define STROBE_BENCH_CALLS(name, number)                                                           \
    STROBE_BENCH_NOTE(0x103, ".4byte " STROBE_BENCH_TEXT(number) "\n", #name)

/* GNU's linker keeps what notes refer to; LLVM's does if their section is retained, which old assemblers do not know. */
#ifdef __clang__
#define STROBE_BENCH_FLAGS "R"
#else
#define STROBE_BENCH_FLAGS ""
#endif

#define STROBE_BENCH_NOTE(kind, words, name)                                                       \
    __asm__(".pushsection .strobe_bench,\"" STROBE_BENCH_FLAGS "\",%note\n"                          \
            ".balign 4\n"                                                                          \
            ".4byte 7, 92f - 91f, " #kind "\n"                                                     \
            ".asciz \"strobe\"\n.byte 0\n"                                                         \
            "91:\n" words ".asciz \"" name "\"\n"                                                  \
            "92: .balign 4\n"                                                                      \
            ".popsection")

#define STROBE_BENCH_TEXT(...) STROBE_BENCH_TEXT_(__VA_ARGS__)
#define STROBE_BENCH_TEXT_(...) #__VA_ARGS__

#else

/* A function that nobody calls, so that it is checked and left out. */
#define STROBE_BENCH(name, ...)                                                                    \
    static inline __attribute__((unused)) void strobe_bench_##name(                                \
        uint32_t n __attribute__((unused)))
#define STROBE_BENCH_SETUP(name)                                                                   \
    static inline __attribute__((unused)) void strobe_bench_setup_##name(                          \
        uint32_t n __attribute__((unused)))
#define STROBE_BENCH_CALLS(name, number) _Static_assert((number) >= 1 && (number) <= 1000, "calls")

#endif

/* Makes the compiler work a value out, and forget what it knows of memory. */
#define STROBE_KEEP(value)                                                                         \
    do {                                                                                           \
        __typeof__(value) strobe_kept = (value);                                                   \
        __asm__ volatile("" : : "r,m"(strobe_kept) : "memory");                                    \
    } while (0)

#endif
