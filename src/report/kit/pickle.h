/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Python's pickle, protocol 4, as far as lists, dicts, whole numbers and texts go: written as it
 * comes. Only what the reader of PyTorch's memory viewer knows is used.
 */
#ifndef MS_REPORT_KIT_PICKLE_H
#define MS_REPORT_KIT_PICKLE_H

#include <stdint.h>
#include <stdio.h>

enum { MS_PICKLE_BATCH = 1000 }; /* items that are appended at once, as Python does */

typedef struct ms_pickle {
    FILE *out;
    uint32_t memo_count;
} ms_pickle;

void ms_pickle_begin(ms_pickle *p);
void ms_pickle_end(ms_pickle *p);

/* Key and value follow one another until the end. */
void ms_pickle_dict(ms_pickle *p);
void ms_pickle_end_dict(ms_pickle *p);

/* Call ms_pickle_next before each item, with its number from 0. */
void ms_pickle_list(ms_pickle *p);
void ms_pickle_next(ms_pickle *p, uint64_t index);
void ms_pickle_end_list(ms_pickle *p);

void ms_pickle_text(ms_pickle *p, const char *text);
void ms_pickle_uint(ms_pickle *p, uint64_t value);

/* Remembers what was written last; ms_pickle_again writes the same object once more. */
uint32_t ms_pickle_remember(ms_pickle *p);
void ms_pickle_again(ms_pickle *p, uint32_t number);

#endif
