/* Requests to the debugger or simulator that runs the program, after Arm's "Semihosting
 * for AArch32 and AArch64" (version 2). Without one, BKPT 0xAB is a HardFault. */
#ifndef KIT_SEMIHOSTING_H
#define KIT_SEMIHOSTING_H

#include <stdint.h>

#define SYS_OPEN 0x01
#define SYS_WRITE0 0x04
#define SYS_WRITE 0x05
#define SYS_READ 0x06
#define SYS_CLOCK 0x10
#define SYS_EXIT 0x18
#define SYS_EXIT_EXTENDED 0x20

/* Reasons for SYS_EXIT and SYS_EXIT_EXTENDED */
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

int semihosting_call(int operation, uintptr_t argument);

/* Zero-terminated text straight to the debug console, past newlib. */
void semihosting_print(const char *text);

/* Hundredths of a second since the program started, as the host measures them. */
int semihosting_clock(void);

#endif
