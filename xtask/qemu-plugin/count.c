/*
 * Counts executed guest instructions per address, the way a profiler in QEMU has to: the yardstick of `cargo xtask bench`.
 *
 * Distributions ship QEMU without qemu-plugin.h, so the few prototypes used are declared here from the documented plugin
 * interface, version 1 (QEMU 4.2 to 8.1). QEMU refuses a plugin whose declared version it does not support, so a newer
 * QEMU fails loudly instead of miscounting.
 *
 * Arguments: `mode=callback` (default) calls a function before each instruction, `mode=inline` lets QEMU's generated code
 * increment the counter itself; `out=FILE` takes the one line of results, standard error by default.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* --- Plugin interface version 1, only what is used ------------------------------------------------------------------ */

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

typedef void (*tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*vcpu_udata_cb)(unsigned int vcpu_index, void *userdata);
typedef void (*udata_cb)(qemu_plugin_id_t id, void *userdata);

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, vcpu_udata_cb cb,
                                                   enum qemu_plugin_cb_flags flags, void *userdata);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, enum qemu_plugin_op op,
                                                       void *ptr, uint64_t imm);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, udata_cb cb, void *userdata);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

/* --- The counters --------------------------------------------------------------------------------------------------- */

/*
 * One counter per halfword address of the first MiB of each 512 MiB region, allocated on first use: code of a Cortex-M
 * lies in flash at 0 or in RAM at 0x20000000. Anything else shares one counter, so that the total is right whatever runs.
 */
enum { REGIONS = 8, SLOTS = 1 << 19 };
static uint64_t *counters[REGIONS];
static uint64_t elsewhere;
static bool use_inline;
static const char *out_path;

static uint64_t *counter_of(uint64_t address)
{
    uint64_t region = address >> 29;
    uint64_t slot = (address & 0x1fffffff) >> 1;
    if (region >= REGIONS || slot >= SLOTS) {
        return &elsewhere;
    }
    if (counters[region] == NULL) {
        counters[region] = calloc(SLOTS, sizeof(uint64_t));
        if (counters[region] == NULL) {
            return &elsewhere;
        }
    }
    return &counters[region][slot];
}

static void count(unsigned int vcpu_index, void *counter)
{
    (void)vcpu_index;
    ++*(uint64_t *)counter;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t n = qemu_plugin_tb_n_insns(tb);
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t *counter = counter_of(qemu_plugin_insn_vaddr(insn));
        if (use_inline) {
            qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, counter, 1);
        } else {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, count, QEMU_PLUGIN_CB_NO_REGS, counter);
        }
    }
}

static void report(qemu_plugin_id_t id, void *userdata)
{
    (void)id;
    (void)userdata;
    uint64_t instructions = elsewhere, addresses = elsewhere != 0;
    for (int region = 0; region < REGIONS; region++) {
        for (size_t slot = 0; counters[region] != NULL && slot < SLOTS; slot++) {
            instructions += counters[region][slot];
            addresses += counters[region][slot] != 0;
        }
    }
    FILE *out = out_path ? fopen(out_path, "w") : stderr;
    if (out == NULL) {
        perror(out_path);
        return;
    }
    fprintf(out, "instructions %" PRIu64 " addresses %" PRIu64 "\n", instructions, addresses);
    fflush(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "mode=inline") == 0) {
            use_inline = true;
        } else if (strncmp(argv[i], "out=", 4) == 0) {
            /* The argument vector is freed once installed. */
            out_path = strdup(argv[i] + 4);
        } else if (strcmp(argv[i], "mode=callback") != 0) {
            fprintf(stderr, "count: unknown argument %s\n", argv[i]);
            return -1;
        }
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, report, NULL);
    return 0;
}
