/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What sweeps read: rows that they wrote, as CSV or JSON lines, and a CSV file of runs.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "decide/sweep/frontier.h"
#include "decide/sweep/rows.h"
#include "decide/sweep/table.h"

/* Every row ends where the next begins, and names a point of as many as it says. */
static void read_rows(FILE *file)
{
    ms_rows rows = {0};
    ms_error err = {0};
    uint64_t lines = 0, bytes = 0;
    ms_status status = ms_rows_open(&rows, file, "fuzz.csv", &err);
    while (status == MS_OK && rows.has_row) {
        assert(rows.length > 0 && rows.line[rows.length - 1] == '\n');
        assert(rows.point < rows.point_count);
        assert(rows.line_number > lines && rows.whole_bytes > bytes);
        lines = rows.line_number;
        bytes = rows.whole_bytes;
        status = ms_rows_next(&rows, &err);
    }
    assert(status == MS_OK || err.text[0]);
    ms_rows_free(&rows);
}

/* Joining rows with themselves alone gives them back, or says why not. */
static void merge_and_choose(FILE *file)
{
    static FILE *out;
    if (!out)
        out = fopen("/dev/null", "w");
    ms_rows rows = {0};
    ms_error err = {0};
    rewind(file);
    if (out && ms_rows_open(&rows, file, "fuzz.csv", &err) == MS_OK &&
        ms_rows_merge(&rows, 1, out, &err) != MS_OK)
        assert(err.text[0]);
    ms_rows_free(&rows);
    rewind(file);
    err = (ms_error){0};
    if (out && ms_rows_frontier(file, "fuzz.csv", "expected_device_bytes,tokens_per_s", out,
                                &err) != MS_OK)
        assert(err.text[0]);
}

static void read_table(const char *path)
{
    ms_table table = {0};
    ms_error err = {0};
    if (ms_table_open(&table, NULL, path, &err) == MS_OK) {
        char **cells = calloc(table.fields.count + 1, sizeof *cells);
        for (uint64_t i = 0; cells && i < table.line_count; i++) {
            ms_error reason = {0};
            ms_status status = ms_table_read(&table, cells, &reason);
            for (uint32_t k = 0; status == MS_OK && k < table.fields.count; k++)
                assert(cells[k]);
            assert(status == MS_OK || reason.text[0]);
            if (status != MS_OK && status != MS_ERR_CONFIG)
                break;
        }
        free(cells);
    } else {
        assert(err.text[0]);
    }
    ms_table_free(&table);
}

/* A table is opened by its path: always the same one, which is on no disk. */
static void read_as_file(const uint8_t *data, size_t size)
{
    static int number = -1;
    static char path[32];
    if (number < 0) {
        snprintf(path, sizeof path, "/memscope-fuzz-%ld", (long)getpid());
        number = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        shm_unlink(path);
        snprintf(path, sizeof path, "/proc/self/fd/%d", number);
    }
    if (number >= 0 && ftruncate(number, 0) == 0 && pwrite(number, data, size, 0) == (ssize_t)size)
        read_table(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
    if (file) {
        read_rows(file);
        merge_and_choose(file);
        fclose(file);
    }
    read_as_file(data, size);
    return 0;
}
