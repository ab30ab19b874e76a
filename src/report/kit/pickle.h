/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A streaming writer of Python's pickle, protocol 4, for lists, dicts, integers and strings. It
 * uses only opcodes that PyTorch's memory viewer supports.
 */
#ifndef MS_REPORT_KIT_PICKLE_H
#define MS_REPORT_KIT_PICKLE_H

#include <stdint.h>
#include <stdio.h>

enum { MS_PICKLE_BATCH = 1000 }; /* items appended at once, as in Python */

typedef struct ms_pickle {
    FILE *out;
    uint32_t memo_count;
} ms_pickle;

void ms_pickle_begin(ms_pickle *p);
void ms_pickle_end(ms_pickle *p);

/* Keys and values alternate until ms_pickle_end_dict. */
void ms_pickle_dict(ms_pickle *p);
void ms_pickle_end_dict(ms_pickle *p);

/* Call ms_pickle_next before each item, with its index from 0. */
void ms_pickle_list(ms_pickle *p);
void ms_pickle_next(ms_pickle *p, uint64_t index);
void ms_pickle_end_list(ms_pickle *p);

void ms_pickle_text(ms_pickle *p, const char *text);
void ms_pickle_uint(ms_pickle *p, uint64_t value);

/* Memoizes the object written last; ms_pickle_again writes a reference to it. */
uint32_t ms_pickle_remember(ms_pickle *p);
void ms_pickle_again(ms_pickle *p, uint32_t number);

#endif
