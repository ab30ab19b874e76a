/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The end of what was written: the one place that asks whether all of it was.
 */
#ifndef MS_BASE_TEXT_OUTPUT_H
#define MS_BASE_TEXT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* Flushes. MS_ERR_IO when anything since errno was set to 0 could not be written, MS_ERR_NOMEM when
 * memory was short for it; `what` as in "cannot write the plan". */
ms_status ms_output_finish(FILE *out, const char *what, ms_error *err);

/* Closes a text of open_memstream, which may be NULL. False: memory was short. */
bool ms_output_close_text(FILE *out, char *const *text);

#endif
