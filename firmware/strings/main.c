/* Two ways to build strings, each in a function of its own, for `strobe heap`:
 *
 *   join_temporaries   "key=value;" pairs joined one by one, each step a new string
 *   join_buffer        the length first, then one buffer
 *   sort_strings       records to sort, each with a string of its own
 *   sort_buffer        all texts in one buffer, and a list of offsets into it
 *
 * Exits with 0 if both ways give the same. */
#include <stdlib.h>
#include <string.h>

#define PAIRS 40u
#define RECORDS 500u

static const char *const keys[4] = {"temperature", "humidity", "pressure", "battery"};
static const char *const values[4] = {"21.5", "48", "1013.25", "3.71"};

static char *concatenate(const char *a, const char *b)
{
    size_t first = strlen(a), second = strlen(b);
    char *both = malloc(first + second + 1);
    if (both == 0) {
        exit(2);
    }
    memcpy(both, a, first);
    memcpy(both + first, b, second + 1);
    return both;
}

__attribute__((noinline)) static char *append(char *text, const char *more)
{
    char *both = concatenate(text, more);
    free(text);
    return both;
}

__attribute__((noinline)) static char *join_temporaries(void)
{
    char *text = concatenate("", "");
    for (unsigned n = 0; n < PAIRS; n++) {
        char *pair = concatenate(keys[n % 4], "=");
        pair = append(pair, values[n % 4]);
        pair = append(pair, ";");
        text = append(text, pair);
        free(pair);
    }
    return text;
}

__attribute__((noinline)) static char *join_buffer(void)
{
    size_t length = 1;
    for (unsigned n = 0; n < PAIRS; n++) {
        length += strlen(keys[n % 4]) + strlen(values[n % 4]) + 2;
    }
    char *text = malloc(length), *end = text;
    if (text == 0) {
        exit(2);
    }
    for (unsigned n = 0; n < PAIRS; n++) {
        end = stpcpy(stpcpy(stpcpy(stpcpy(end, keys[n % 4]), "="), values[n % 4]), ";");
    }
    return text;
}

/* "r" and six digits that are not in order. */
static void name_record(char *name, unsigned n)
{
    unsigned number = n * 7919u % 1000003u;
    name[0] = 'r';
    for (unsigned i = 6; i > 0; i--) {
        name[i] = (char)('0' + number % 10);
        number /= 10;
    }
    name[7] = 0;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

__attribute__((noinline)) static unsigned sort_strings(void)
{
    char **records = malloc(RECORDS * sizeof *records);
    if (records == 0) {
        exit(2);
    }
    for (unsigned n = 0; n < RECORDS; n++) {
        char name[8];
        name_record(name, n);
        records[n] = concatenate(name, "");
    }
    qsort(records, RECORDS, sizeof *records, compare_strings);
    unsigned sum = 0;
    for (unsigned n = 0; n < RECORDS; n++) {
        sum = sum * 31 + (unsigned)atoi(records[n] + 1);
        free(records[n]);
    }
    free(records);
    return sum;
}

static const char *all_texts;

static int compare_offsets(const void *a, const void *b)
{
    return strcmp(all_texts + *(const unsigned short *)a, all_texts + *(const unsigned short *)b);
}

__attribute__((noinline)) static unsigned sort_buffer(void)
{
    char *texts = malloc(RECORDS * 8);
    unsigned short *offsets = malloc(RECORDS * sizeof *offsets);
    if (texts == 0 || offsets == 0) {
        exit(2);
    }
    for (unsigned n = 0; n < RECORDS; n++) {
        offsets[n] = (unsigned short)(n * 8);
        name_record(texts + n * 8, n);
    }
    all_texts = texts;
    qsort(offsets, RECORDS, sizeof *offsets, compare_offsets);
    unsigned sum = 0;
    for (unsigned n = 0; n < RECORDS; n++) {
        sum = sum * 31 + (unsigned)atoi(texts + offsets[n] + 1);
    }
    free(offsets);
    free(texts);
    return sum;
}

int main(void)
{
    char *one = join_temporaries(), *other = join_buffer();
    int same = strcmp(one, other) == 0;
    free(one);
    free(other);
    exit(same && sort_strings() == sort_buffer() ? 0 : 1);
}
