/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What fits instead, or how much more: by the levers that the engine lists.
 */
#ifndef MS_SERVE_INFER_LEVERS_H
#define MS_SERVE_INFER_LEVERS_H

#include "serve/infer/answer.h"

/* Each sets answer.lever and its value where there is one, with the highest figures. */
ms_status ms_infer_find_less(const ms_infer_input *input, ms_infer_answer *answer, ms_error *err);
/* Sets answer.other to the result's where it fits with it, else, where no lever makes it fit, to
 * the first of the remedies with which it does. */
ms_status ms_infer_find_other(const ms_infer_input *input, ms_infer_answer *answer, ms_error *err);
ms_status ms_infer_find_more(const ms_infer_input *input, ms_infer_answer *answer, ms_error *err);

#endif
