/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A file of training settings while it is read, shared by the training_*.c files.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_READING_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_READING_H

#include "input/config/trainers/keys/key_table.h"
#include "input/config/trainers/training_keys.h"

/* In which DeepSpeed trains. */
typedef enum ms_training_type {
    MS_TRAINING_TYPE_NONE,
    MS_TRAINING_TYPE_BF16,
    MS_TRAINING_TYPE_FP16
} ms_training_type;

typedef struct ms_training_reading {
    ms_arena *arena;
    ms_training_file file;
    ms_json_value root;
    const ms_model_config *model;
    bool lacks_model; /* that is another one than the run's */
    ms_run_draft *draft;
    ms_run_origins *origins;
    ms_notes *notes, *unsupported;
    /* TRL's supervised fine-tuning: see training_sft.h */
    bool is_sft, is_cut;    /* to TRL's own max_length */
    ms_json_value sft_mark; /* the key that says so */
    ms_read_keys *keys;
    ms_key_rows *tables; /* of keys, by format: see key_table.h */
    /* several ranks */
    ms_parallel_kind ranks; /* what the file shards with, if that is read */
    ms_json_value shards;   /* the key that says so; without a document: none does */
    const char *ranks_said; /* the options that it implies; NULL: none */
    uint64_t rings;         /* ranks that share each sequence; 0: none do */
    ms_json_value ring;     /* the key that says so */
    ms_training_type type;  /* that DeepSpeed's configuration sets */
    bool takes_auto_type;   /* it takes that of the training arguments: "auto" */
    ms_error *err;
} ms_training_reading;

/* Sets a field unless it is already set; `topic` is the source of the value, if given. */
ms_status ms_training_offer(ms_training_reading *r, const char *field, const char *text,
                            ms_training_topic topic);
/* Fails at the value of a given topic. */
#define ms_training_fail(r, topic, ...)                                                            \
    ms_json_fail((r)->err, (r)->file.values[topic], MS_JSON_AT_VALUE, MS_ERR_CONFIG, __VA_ARGS__)

/* Sets a field that follows from that value, whose key is its place in refusals. NULL: there was no
 * memory for the text. */
ms_status ms_training_set_by(ms_training_reading *r, ms_json_value value, const char *field,
                             const char *text);

/* Values of topics, or `absent` if the file does not set them. */
bool ms_training_flag(const ms_training_reading *r, ms_training_topic topic, bool absent);
const char *ms_training_text(const ms_training_reading *r, ms_training_topic topic,
                             const char *absent); /* also if it is not a string */
/* A number in its source text; NULL: out of memory. */
const char *ms_training_number(const ms_training_reading *r, ms_training_topic topic);

/* The same of a key that need not be there: its place is that of the topic, if that is given, else
 * of the file; MS_TOPIC_COUNT: of the file. */
ms_status ms_training_note_key(ms_training_reading *r, ms_training_topic topic, const char *key,
                               ms_key_effect effect, const char *meaning);
/* Reads a given topic as one that adds memory, which `bound` limits: see ms_read_key. */
ms_status ms_training_leave_out_bounded(ms_training_reading *r, ms_training_topic topic,
                                        const char *meaning,
                                        uint64_t (*bound)(const ms_model_config *model,
                                                          const struct ms_run_config *run));

/* Reads a given topic as one that keeps tensors of layers on the host, in another way than
 * checkpoints whose inputs are there, which are the other end of it. */
ms_status ms_training_leave_out_host(ms_training_reading *r, ms_training_topic topic,
                                     const char *meaning);
/* Checkpoints of all layers, whose inputs wait on the host, unless the run has its own treatment.
 */
ms_status ms_training_offer_inputs_on_host(ms_training_reading *r, ms_training_topic topic);
/* Expandable segments, as a trainer sets them in its own process, unless an allocator is given. */
ms_status ms_training_expand_segments(ms_training_reading *r);
/* Whether the ranks, of the file or as given, divide anything but the batch. */
bool ms_training_divides(const ms_training_reading *r);
/* Whether they divide by ZeRO-3. */
bool ms_training_is_zero3(const ms_training_reading *r);

/* Given and not 0. */
bool ms_training_is_some(const ms_training_reading *r, ms_training_topic topic);
/* Whether the device is the CPU. */
bool ms_training_on_cpu(const ms_training_reading *r);
/* Reads a given topic as one that is not predicted, or as harmless where it has no effect here. The
 * meaning outlives the reading. */
ms_status ms_training_leave_out(ms_training_reading *r, ms_training_topic topic,
                                ms_key_effect effect, const char *meaning);

/* A note that the trainer's own batch is taken, unless it is 1 (or NULL, the field's own) or the
 * run has one. */
ms_status ms_training_note_batch(ms_training_reading *r, const char *absent);

#endif
