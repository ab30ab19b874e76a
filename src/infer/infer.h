/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prediction of inference: reads the model, asks the engine, judges what it lists, and looks for
 * what fits where it does not.
 */
#ifndef MS_INFER_INFER_H
#define MS_INFER_INFER_H

#include "infer/engines.h"

/* What is read once, for one engine run or several. */
typedef struct ms_infer_input {
    ms_arena *arena; /* of the caller */
    const ms_device *device;
    uint64_t
        budget_bytes; /* of each device, or of the host for a device that is the host; 0: none */
    const char *name;
    ms_model_config config;
    ms_json *document; /* of the config; NULL: a GGUF file */
    char *text;
    ms_gguf gguf;
    uint32_t splits;
} ms_infer_input;

typedef struct ms_infer_answer {
    const ms_infer_engine *engine;
    ms_infer_result result;
    bool fits;         /* with the expected figures; true where no budget is known */
    int full;          /* the first device that is full */
    const char *lever; /* a setting with which it fits, or of which more fits; NULL: none */
    uint64_t lever_value;
    uint64_t input_bytes; /* of the files of weights; 0: there are none yet */
} ms_infer_answer;

/* `model`: a built-in model, a config.json or its folder, or a GGUF file. */
ms_status ms_infer_open(ms_arena *arena, const char *model, const ms_infer_settings *settings,
                        ms_infer_input *input, ms_error *err);
void ms_infer_close(ms_infer_input *input);

ms_status ms_infer_run(const ms_infer_input *input, const ms_infer_settings *settings,
                       ms_infer_answer *answer, ms_error *err);
void ms_infer_answer_free(ms_infer_answer *answer);

#endif
