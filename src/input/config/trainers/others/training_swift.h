/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files and launches of ms-swift 4.6: `swift sft` and `swift pt`, which run transformers'
 * Seq2SeqTrainer with defaults of their own.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_SWIFT_H
#define MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_SWIFT_H

#include "input/config/trainers/training_reading.h"

/* Does nothing for files of others. Numbers that ms-swift computes where none are given: the
 * micro-batches of a step, and the length of sequences. */
ms_status ms_training_set_swift_numbers(ms_training_reading *r);
/* What its head and its models are not predicted with. */
ms_status ms_training_note_swift(ms_training_reading *r);

/* Of its files only: the type of the weights, and that of autocast, which follows from it. */
const char *ms_training_swift_dtype(const ms_training_reading *r);
ms_status ms_training_swift_autocast(ms_training_reading *r, const char **autocast);
/* Whether there is an evaluation: with data for it, at the steps that save unless it says others.
 */
bool ms_training_swift_evaluates(const ms_training_reading *r);
/* After how many steps it evaluates, and empties the cache. */
const char *ms_training_swift_eval_steps(const ms_training_reading *r);
/* The type of an adapter's weights, where the file gives one. */
ms_status ms_training_set_swift_adapter(ms_training_reading *r);
/* The text of `--quantize`; "": none. */
ms_status ms_training_swift_bits(ms_training_reading *r, const char **kind);

#endif
