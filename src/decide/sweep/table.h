/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A CSV file of runs: a header of field names, then one run per line. Read forward, line by line.
 */
#ifndef MS_DECIDE_SWEEP_TABLE_H
#define MS_DECIDE_SWEEP_TABLE_H

#include <stdio.h>

#include "base/error.h"
#include "base/inputs.h"
#include "base/vec.h"

typedef struct ms_table {
    FILE *file;
    char name[128];
    ms_vec(size_t) fields; /* index of the run field, per column */
    uint64_t line_count;   /* of runs */
    uint64_t next;         /* index of the next run */
    long first;            /* offset of the first run */
    uint64_t line_number;  /* of the last line read, from 1, including the header */
    char *line;            /* the last line read */
    size_t line_bytes;
} ms_table;

/* Opens the file as ms_file_open does, reads its header and counts its runs. A pipe is copied, up
 * to MS_TABLE_PIPE_BYTES. Free the table also after a failure. */
enum { MS_TABLE_PIPE_BYTES = 256 << 20 };
ms_status ms_table_open(ms_table *table, ms_inputs *inputs, const char *path, ms_error *err);
void ms_table_free(ms_table *table);

/* Back to the first run. */
ms_status ms_table_rewind(ms_table *table, ms_error *err);

/* Reads the cells of the next run, including empty ones; they are valid until the next call.
 * MS_ERR_CONFIG when the line has another number of cells than the header; reading can continue. */
ms_status ms_table_read(ms_table *table, char **cells, ms_error *err);

#endif
