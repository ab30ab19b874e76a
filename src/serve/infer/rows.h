/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One model with many settings: a row of figures for each.
 */
#ifndef MS_SERVE_INFER_ROWS_H
#define MS_SERVE_INFER_ROWS_H

#include "serve/infer/infer.h"

typedef struct ms_infer_row {
    const char *const *values; /* of the fields that differ from row to row */
    const char *device;
    uint64_t devices, budget_bytes, context, concurrency;
    ms_infer_bytes needed;              /* at the peak of the device that decides */
    uint64_t weight_bytes, cache_bytes; /* of these; caches with states */
    uint64_t host_bytes;                /* at the host's peak, expected */
    ms_infer_speed speed;
    ms_fit_reason fit_reason;
    bool fits;         /* with the expected figures */
    const char *lever; /* as of ms_infer_answer */
    uint64_t lever_value;
    ms_infer_fit fit;
    const char *chosen; /* by the engine itself, as its program takes it; NULL: nothing was asked */
    const char *reason; /* why there are no figures; NULL: there are */
    ms_status status;
} ms_infer_row;

typedef struct ms_infer_rows {
    const char *const *fields; /* that differ from row to row */
    uint32_t field_count;
    const ms_infer_engine *engine; /* of the first row with figures */
    uint64_t most_host_bytes;      /* of rows whose device is not the host */
    bool has_speed;                /* a row that fits has an upper bound of decode */
    ms_vec(ms_infer_row) rows;
    ms_vec(const char *) notes; /* each once */
} ms_infer_rows;

enum { MS_INFER_MOST_ROWS = 100000 };

/* Runs the settings with the values of each row of rows->rows, on all cores; fills the rows. A row
 * that cannot be answered says why. Texts are in the arena of the input. MS_ERR_NOMEM. */
ms_status ms_infer_rows_run(const ms_infer_input *input, const ms_infer_settings *settings,
                            ms_infer_rows *rows, ms_error *err);
void ms_infer_rows_free(ms_infer_rows *rows);

#endif
