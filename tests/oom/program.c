/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linked into a copy of the program: $MEMSCOPE_FAIL=N makes its N-th allocation fail. At exit the
 * number of allocations goes to the file $MEMSCOPE_COUNT, and blocks left behind end the program
 * with 99.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "oom/fail.h"

static size_t live_at_start;

static void finish(void)
{
    size_t count = fail_count(), live = fail_live_blocks() - live_at_start;
    fail_arm(0);
    const char *path = getenv("MEMSCOPE_COUNT");
    FILE *out = path ? fopen(path, "w") : NULL;
    if (out) {
        fprintf(out, "%zu\n", count);
        fclose(out);
    }
    if (live) {
        fprintf(stderr, "%zu blocks were not freed\n", live);
        _exit(99);
    }
}

__attribute__((constructor)) static void start(void)
{
    const char *n = getenv("MEMSCOPE_FAIL");
    if (atexit(finish) != 0)
        abort();
    /* libc would allocate them when first used, and keep them. */
    static char buffers[2][BUFSIZ];
    setvbuf(stdout, buffers[0], _IOFBF, BUFSIZ);
    setvbuf(stderr, buffers[1], _IOLBF, BUFSIZ);
    fail_on_one_processor();
    live_at_start = fail_live_blocks();
    fail_arm(n ? strtoul(n, NULL, 10) : 0);
}
