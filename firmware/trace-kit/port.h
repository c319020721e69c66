/* What a chip does for these programs, and for the kit: strobe_trace_sink, and the clock where there is no cycle counter. */
#ifndef TRACE_KIT_PORT_H
#define TRACE_KIT_PORT_H

#include <stdint.h>

/* Before anything else. */
void port_start(void);
/* Waits until all records have left. */
void port_finish(void);

#endif
