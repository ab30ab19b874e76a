/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lists of values for settings of inference, as a sweep takes them for those of a run.
 */
#ifndef MS_API_INFERENCE_INFER_AXES_H
#define MS_API_INFERENCE_INFER_AXES_H

#include "serve/infer/rows.h"
#include "decide/sweep/grid.h"

typedef struct ms_infer_axes {
    ms_vec(ms_sweep_axis) items; /* in the order in which their fields were first named */
} ms_infer_axes;

void ms_infer_axes_free(ms_infer_axes *axes);
/* Takes the values of a list in place of earlier ones of the field. One value alone goes into the
 * settings; `all` of `quant` stands for those of the engine, when they are counted. */
ms_status ms_infer_axes_set(ms_infer_axes *axes, ms_infer_settings *settings, ms_arena *arena,
                            const char *field, const char *list, ms_error *err);
/* Makes a row for each combination of values, the last axis fastest; none without a list. Refuses
 * more than MS_INFER_MOST_ROWS. */
ms_status ms_infer_axes_rows(ms_infer_axes *axes, const ms_infer_settings *settings,
                             const ms_infer_input *input, ms_infer_rows *rows, ms_error *err);

#endif
