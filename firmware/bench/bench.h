/* What each program defines: the work, and the checksum it must give (computed by the same source on an x86-64 host). */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>

uint32_t work(void);
extern const uint32_t expected;

#endif
