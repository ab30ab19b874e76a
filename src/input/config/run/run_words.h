/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What trainers and engines call settings that are fields here under another name.
 */
#ifndef MS_INPUT_CONFIG_RUN_RUN_WORDS_H
#define MS_INPUT_CONFIG_RUN_RUN_WORDS_H

#include <stddef.h>

#include "memscope/field.h"

/* Row by row; NULL past the last. A word with two rows means the first whose field there is. */
const ms_run_word *ms_run_words_row(size_t index);

/* The row of a word, ignoring case and treating `_` as `-`; NULL when it is unknown. */
const ms_run_word *ms_run_word_find(const char *word);

#endif
