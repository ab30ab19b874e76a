/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lists of words as a text, and ends of texts.
 */
#ifndef MS_BASE_TEXT_WORDS_H
#define MS_BASE_TEXT_WORDS_H

#include <stdbool.h>

/* Whether the word is one of a list that has a blank before and behind each: " sft dpo ". */
bool ms_words_have(const char *list, const char *word);
/* Whether the text ends so. */
bool ms_text_ends_in(const char *text, const char *end);

#endif
