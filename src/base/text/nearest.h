/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * "Did you mean ...?" for an unknown name. Two rules, by what a wrong suggestion would cost:
 *
 * - Words of memscope's own and keys of files (ms_nearest_to): a name within a few edits is
 *   suggested.
 * - Names of things (models, families, devices, optimizers, types) often differ by one letter or
 *   digit, and the figures of another one would be wrong ("llava" is not "llama", "mpt" not "opt").
 *   ms_nearest_same suggests only names with the same letters and digits, ignoring case, signs,
 *   doubled letters and one swap ("LLama", "qwen-2", "lama", "gtp2"); where names may be
 *   abbreviated, also all names that begin with it ("a100" is more than one device).
 */
#ifndef MS_BASE_TEXT_NEAREST_H
#define MS_BASE_TEXT_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MS_NEAREST_MOST_BEGUN = 4 };

typedef struct ms_nearest {
    const char *wanted;
    const char *name; /* the nearest so far; NULL when nothing is near */
    size_t distance;
    size_t limit;              /* letters that may differ; 0 with is_same */
    bool is_same, takes_begun; /* by ms_nearest_same; also names that begin with `wanted` */
    const char *begun[MS_NEAREST_MOST_BEGUN];
    uint32_t begun_count; /* also those beyond MS_NEAREST_MOST_BEGUN */
} ms_nearest;

/* Starts a search: `ms_nearest n = ms_nearest_to("btach");` then offers each known name. */
ms_nearest ms_nearest_to(const char *wanted);
ms_nearest ms_nearest_within(const char *wanted, size_t letters); /* at most that many edits */
ms_nearest ms_nearest_same(const char *wanted);
ms_nearest ms_nearest_same_or_begun(const char *wanted);
void ms_nearest_offer(ms_nearest *nearest, const char *name);

/* "; did you mean 'batch'?", or "'a', 'b' or 'c'", or "" when nothing is near. Writes into `out`,
 * returns it. */
const char *ms_nearest_hint(const ms_nearest *nearest, char *out, size_t size);

/* The edit distance of two names; SIZE_MAX for names that are too long. */
size_t ms_name_distance(const char *a, const char *b);

/* Non-zero when equal, ignoring case and treating '_' as '-'. */
int ms_name_equal(const char *a, const char *b);

#endif
