/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * "Did you mean ...?" in answer to a name that is not known. Two rules, by what a wrong guess does:
 *
 * - Words of memscope's own and keys of files are told by their letters (ms_nearest_to): a slip of
 *   a few is the word that was meant.
 * - Names of things (models, families, devices, optimizers, types) differ from each other by a
 *   letter or a digit, and another one's figures would be wrong ("llava" is no "llama", "mpt" no
 *   "opt"). They are told by ms_nearest_same, which offers what has the same letters and digits but
 *   for case, signs, doubled letters and one swap ("LLama", "qwen-2", "lama", "gtp2"), and where a
 *   name may be cut short, what it begins: all of it, as "a100" is more than one device.
 */
#ifndef MS_TEXT_NEAREST_H
#define MS_TEXT_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MS_NEAREST_MOST_BEGUN = 4 };

typedef struct ms_nearest {
    const char *wanted;
    const char *name; /* the nearest so far; NULL when nothing is near */
    size_t distance;
    size_t limit;              /* letters that may differ; 0: see is_same */
    bool is_same, takes_begun; /* ms_nearest_same; and with names that it begins */
    const char *begun[MS_NEAREST_MOST_BEGUN];
    uint32_t begun_count; /* also of those that there was no room for */
} ms_nearest;

/* Starts a search: `ms_nearest n = ms_nearest_to("btach");` then offers each known name. */
ms_nearest ms_nearest_to(const char *wanted);
ms_nearest ms_nearest_within(const char *wanted, size_t letters); /* that many slips at most */
ms_nearest ms_nearest_same(const char *wanted);
ms_nearest ms_nearest_same_or_begun(const char *wanted);
void ms_nearest_offer(ms_nearest *nearest, const char *name);

/* "; did you mean 'batch'?", or "'a', 'b' or 'c'", or "" when nothing is near. Writes into `out`,
 * returns it. */
const char *ms_nearest_hint(const ms_nearest *nearest, char *out, size_t size);

/* How many letters apart two names are; SIZE_MAX for names that are too long. */
size_t ms_name_distance(const char *a, const char *b);

/* Equal but for case, and '_' for '-'. */
int ms_name_equal(const char *a, const char *b);

#endif
