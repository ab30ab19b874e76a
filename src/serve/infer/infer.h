/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prediction of inference: reads the model, asks the engine, judges what it lists, and looks for
 * what fits where it does not.
 */
#ifndef MS_SERVE_INFER_INFER_H
#define MS_SERVE_INFER_INFER_H

#include "base/reason.h"
#include "serve/infer/answer.h"

/* `model`: a built-in model, a config.json, its folder, a safetensors file or its index beside it,
 * or a GGUF file. The input has no device yet. */
/* `settings`: of them, the file and the folder of families that the model may be of. */
ms_status ms_infer_open(ms_arena *arena, const char *model, const ms_infer_settings *settings,
                        ms_infer_input *input, ms_error *err);
/* Sets the device and its budget; the settings name the device as it is listed. */
ms_status ms_infer_place(ms_infer_input *input, ms_infer_settings *settings, ms_error *err);
void ms_infer_close(ms_infer_input *input);

/* With settings.fit, that setting becomes the largest value that fits, or the least one. */
ms_status ms_infer_run(const ms_infer_input *input, const ms_infer_settings *settings,
                       ms_infer_answer *answer, ms_error *err);
/* The device that decides: the one that lacks most, else the one that needs most; or MS_INFER_HOST.
 */
int ms_infer_decisive(const ms_infer_input *input, const ms_infer_answer *answer);
ms_fit_reason ms_infer_reason(const ms_infer_input *input, const ms_infer_answer *answer);
void ms_infer_answer_free(ms_infer_answer *answer);

#endif
