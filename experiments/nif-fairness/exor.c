// Exors every byte of a binary with one, PASSES times over: plainly, in slices, or on a dirty scheduler.
#include <erl_nif.h>
#include <string.h>
#include <time.h>

static ErlNifResourceType *states;

// What a slice leaves for the next one.
struct state {
    unsigned char *bytes;
    size_t length, at;
    unsigned pass, passes, slices;
    unsigned char by;
    long long longest;
};

static void forget(ErlNifEnv *env, void *state) {
    (void)env;
    enif_free(((struct state *)state)->bytes);
}

static int load(ErlNifEnv *env, void **data, ERL_NIF_TERM info) {
    (void)data, (void)info;
    states = enif_open_resource_type(env, NULL, "state", forget, ERL_NIF_RT_CREATE, NULL);
    return states == NULL;
}

static void exor_bytes(unsigned char *bytes, size_t length, unsigned char by) {
    // One byte after the other, as a codec does whose bytes depend on each other.
    for (size_t at = 0; at < length; at++) {
        bytes[at] ^= by;
        __asm__ volatile("" ::: "memory");
    }
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static ERL_NIF_TERM plain(ErlNifEnv *env, int count, const ERL_NIF_TERM arguments[]) {
    ErlNifBinary binary;
    unsigned by, passes;
    (void)count;
    if (!enif_inspect_binary(env, arguments[0], &binary) || !enif_get_uint(env, arguments[1], &by)
        || !enif_get_uint(env, arguments[2], &passes))
        return enif_make_badarg(env);
    ERL_NIF_TERM result;
    unsigned char *bytes = enif_make_new_binary(env, binary.size, &result);
    memcpy(bytes, binary.data, binary.size);
    for (unsigned pass = 0; pass < passes; pass++) exor_bytes(bytes, binary.size, (unsigned char)by);
    return result;
}

// A slice is to take a millisecond: the clock is read every 16 KiB.
#define SLICE 1000000
#define STEP 16384

static ERL_NIF_TERM slice(ErlNifEnv *env, int count, const ERL_NIF_TERM arguments[]) {
    struct state *state;
    (void)count;
    if (!enif_get_resource(env, arguments[0], states, (void **)&state)) return enif_make_badarg(env);
    const long long begin = now();
    long long took = 0;
    while (state->pass < state->passes && took < SLICE) {
        const size_t left = state->length - state->at, length = left < STEP ? left : STEP;
        exor_bytes(state->bytes + state->at, length, state->by);
        state->at += length;
        if (state->at == state->length) state->at = 0, state->pass++;
        took = now() - begin;
    }
    state->slices++;
    if (took > state->longest) state->longest = took;
    const long long percent = took * 100 / SLICE;
    enif_consume_timeslice(env, percent < 1 ? 1 : percent > 100 ? 100 : (int)percent);
    if (state->pass < state->passes) return enif_schedule_nif(env, "slice", 0, slice, 1, arguments);
    ERL_NIF_TERM result;
    memcpy(enif_make_new_binary(env, state->length, &result), state->bytes, state->length);
    return enif_make_tuple3(env, result, enif_make_uint(env, state->slices),
                            enif_make_int64(env, state->longest));
}

static ERL_NIF_TERM yielding(ErlNifEnv *env, int count, const ERL_NIF_TERM arguments[]) {
    ErlNifBinary binary;
    unsigned by, passes;
    (void)count;
    if (!enif_inspect_binary(env, arguments[0], &binary) || !enif_get_uint(env, arguments[1], &by)
        || !enif_get_uint(env, arguments[2], &passes))
        return enif_make_badarg(env);
    struct state *state = enif_alloc_resource(states, sizeof *state);
    *state = (struct state){enif_alloc(binary.size), binary.size, 0, 0, passes, 0, (unsigned char)by, 0};
    memcpy(state->bytes, binary.data, binary.size);
    const ERL_NIF_TERM next[] = {enif_make_resource(env, state)};
    enif_release_resource(state);
    return enif_schedule_nif(env, "slice", 0, slice, 1, next);
}

static ErlNifFunc functions[] = {
    {"plain", 3, plain, 0},
    {"yielding", 3, yielding, 0},
    {"dirty", 3, plain, ERL_NIF_DIRTY_JOB_CPU_BOUND},
};
ERL_NIF_INIT(exor, functions, load, NULL, NULL, NULL)
