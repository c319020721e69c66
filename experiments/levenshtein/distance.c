// The edit distance of two binaries, row by row.
#include <erl_nif.h>

static ERL_NIF_TERM native(ErlNifEnv *env, int count, const ERL_NIF_TERM arguments[]) {
    ErlNifBinary a, b;
    (void)count;
    if (!enif_inspect_binary(env, arguments[0], &a) || !enif_inspect_binary(env, arguments[1], &b))
        return enif_make_badarg(env);
    unsigned *row = enif_alloc((b.size + 1) * sizeof *row);
    for (size_t j = 0; j <= b.size; j++) row[j] = (unsigned)j;
    for (size_t i = 0; i < a.size; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < b.size; j++) {
            const unsigned changed = diagonal + (a.data[i] != b.data[j]);
            const unsigned deleted = row[j + 1] + 1, inserted = row[j] + 1;
            diagonal = row[j + 1];
            const unsigned less = deleted < inserted ? deleted : inserted;
            row[j + 1] = changed < less ? changed : less;
        }
    }
    const unsigned distance = row[b.size];
    enif_free(row);
    return enif_make_uint(env, distance);
}

static ErlNifFunc functions[] = {{"native", 2, native, 0}};
ERL_NIF_INIT(distance, functions, NULL, NULL, NULL, NULL)
