/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The largest value of a setting that fits: settings.fit.
 */
#ifndef MS_SERVE_INFER_LARGEST_H
#define MS_SERVE_INFER_LARGEST_H

#include "serve/infer/answer.h"

/* Fills answer.fit, and sets the setting of answer.settings to the largest value that fits with the
 * expected figures; to the least one where none does. MS_ERR_USAGE: no memory is known, or the
 * engine has no such setting here. */
ms_status ms_infer_find_largest(const ms_infer_input *input, ms_infer_answer *answer,
                                ms_error *err);

/* ---- levers ---- */

/* What fits instead, or how much more: by the levers that the engine lists. */

/* Each sets answer.lever and its value where there is one, with the highest figures. */
ms_status ms_infer_find_less(const ms_infer_input *input, ms_infer_answer *answer, ms_error *err);
/* Sets answer.other to the result's where it fits with it, else, where no lever makes it fit, to
 * the first of the remedies with which it does. */
ms_status ms_infer_find_other(const ms_infer_input *input, ms_infer_answer *answer, ms_error *err);
ms_status ms_infer_find_more(const ms_infer_input *input, ms_infer_answer *answer, ms_error *err);

#endif
