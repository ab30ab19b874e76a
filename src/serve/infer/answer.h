/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is asked of an engine, and what was found.
 */
#ifndef MS_SERVE_INFER_ANSWER_H
#define MS_SERVE_INFER_ANSWER_H

#include "input/config/model/family.h"
#include "input/config/model/notes.h"
#include "serve/infer/engines.h"
#include "serve/infer/files/explain.h"
#include "serve/infer/speed/roofline.h"

/* What is read once, for one engine run or several. */
typedef struct ms_infer_input {
    ms_arena *arena; /* of the caller */
    const ms_device *device;
    bool is_of_table;       /* of which rows tell no other setting that fits */
    const char *place_note; /* of a device that was not given; NULL: none */
    const char *name_note;  /* of a model that was taken for another; NULL: none */
    ms_notes config_notes;  /* of who read the config */
    uint64_t
        budget_bytes; /* of each device, or of the host for a device that is the host; 0: none */
    const char *name;
    const ms_family_list *families; /* that the model may be of */
    ms_model_config *config;        /* of the arena; NULL: a GGUF file */
    ms_json *document;              /* of the config; NULL likewise */
    char *text;
    ms_inventory inventory; /* of the config; no weights: it is not made */
    ms_stored stored;       /* beside the config: no files where there is no tensor */
    ms_gguf gguf;
    uint32_t splits;
} ms_infer_input;

/* The largest value of a setting, by settings.fit. Values are as on the command line. */
typedef struct ms_infer_fit {
    const char *what;         /* the setting; NULL: nothing was looked for */
    const char *value, *safe; /* fits, and with the highest figures; NULL: none does */
    const char *next;         /* the next one, which does not fit; NULL: there is none */
    const char *least;        /* the least one that was tried */
    const char *refusal;      /* why the engine refuses the next one; NULL: it has no room */
    uint64_t next_bytes; /* expected, of the device that is full with it; 0: refused, or bytes do
                            not say it */
    bool has_all;        /* no larger value that was not tried can fit */
    uint64_t step;       /* from one value to the next; 0: they are names */
    uint64_t trials;
} ms_infer_fit;

typedef struct ms_infer_answer {
    ms_infer_settings settings; /* those of the result */
    const ms_infer_engine *engine;
    ms_infer_result result;
    uint64_t context; /* tokens of one sequence, as settings or the engine have it */
    ms_infer_fit fit;
    ms_infer_choice choice;
    bool fits;         /* with the expected figures; true where no budget is known */
    int full;          /* the device that lacks most */
    const char *lever; /* a setting with which it fits, or of which more fits; NULL: none */
    uint64_t lever_value;
    ms_infer_setting other; /* with which it fits where it does not; tried */
    uint64_t loaded_bytes;  /* of weights, on devices and the host */
    ms_infer_speed speed;
    ms_stored_causes causes; /* why these are not those of input->stored */
} ms_infer_answer;

#endif
