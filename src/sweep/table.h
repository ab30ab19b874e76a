/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A CSV file of runs: a header of field names, then a run a line. Read forwards, a line at a time.
 */
#ifndef MS_SWEEP_TABLE_H
#define MS_SWEEP_TABLE_H

#include <stdio.h>

#include "base/error.h"
#include "base/inputs.h"
#include "base/vec.h"

typedef struct ms_table {
    FILE *file;
    char name[128];
    ms_vec(size_t) fields; /* of each column, the index of the run field */
    uint64_t line_count;   /* of runs */
    uint64_t next;         /* the run that is read next, from 0 */
    long first;            /* where runs begin */
    uint64_t line_number;  /* of what was read last, from 1, the header included */
    char *line;            /* read last */
    size_t line_bytes;
} ms_table;

/* Opens the file as ms_file_open does, reads its header and counts its runs. Of a pipe at most
 * MS_TABLE_PIPE_BYTES are kept. Free the table also after a failure. */
enum { MS_TABLE_PIPE_BYTES = 256 << 20 };
ms_status ms_table_open(ms_table *table, ms_inputs *inputs, const char *path, ms_error *err);
void ms_table_free(ms_table *table);

/* Back to the first run. */
ms_status ms_table_rewind(ms_table *table, ms_error *err);

/* The cells of the next run, empty ones included; they last until the next call. MS_ERR_CONFIG when
 * the line is no record of as many cells as the header: the next one can be read all the same. */
ms_status ms_table_read(ms_table *table, char **cells, ms_error *err);

#endif
