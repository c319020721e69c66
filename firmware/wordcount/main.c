/* Reads standard input to its end and counts lines, words and bytes: SYS_READ at work.
 *
 * Exits with the number of words, so that an empty input gives 0. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    unsigned lines = 0, words = 0, bytes = 0;
    bool in_word = false;
    for (int c = getchar(); c != EOF; c = getchar()) {
        bytes++;
        lines += c == '\n';
        bool is_space = isspace(c);
        words += !is_space && !in_word;
        in_word = !is_space;
    }
    printf("%u lines, %u words, %u bytes\n", lines, words, bytes);
    exit((int)words);
}
