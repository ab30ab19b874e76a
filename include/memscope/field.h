/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Description of an option for help texts and front ends: one row per field of a run, a plan or a
 * sweep. All texts are static.
 */
#ifndef MEMSCOPE_FIELD_H
#define MEMSCOPE_FIELD_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ms_run_field {
    const char *name;       /* "batch" */
    const char *value_name; /* "N"; NULL: a flag, whose values are "true" and "false" */
    const char *help;       /* one line */
    const char *default_text;
    const char *group; /* "Model", "Training", ... */
} ms_run_field;

/* A setting of a trainer or an engine that is a field under another name. */
typedef struct ms_run_word {
    const char *word;   /* "batch-size" */
    const char *field;  /* "batch" */
    const char *value;  /* of a flag: what it sets the field to; NULL: it has a value */
    const char *prefix; /* "r=": the field's value is this and the word's; NULL: nothing */
    const char *why;    /* "it is batch here" */
    const char *also;   /* "autocast=bf16 lora=r=16": fields that a flag sets unless they are set;
                           NULL: none */
} ms_run_word;

#ifdef __cplusplus
}
#endif

#endif
