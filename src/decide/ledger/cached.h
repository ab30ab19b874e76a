/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reserved memory that is not allocated at the peak.
 */
#ifndef MS_DECIDE_LEDGER_CACHED_H
#define MS_DECIDE_LEDGER_CACHED_H

#include "decide/ledger/ledger.h"

enum { MS_CACHED_SIZES = 3 };

/* Free blocks of one size. */
typedef struct ms_cached_size {
    uint64_t bytes; /* of each */
    uint32_t count;
} ms_cached_size;

/* Free blocks of one kind. */
typedef struct ms_cached {
    uint64_t bytes;
    ms_cached_size sizes[MS_CACHED_SIZES]; /* sizes with the largest sums, largest first */
    uint32_t size_count;
    bool has_more;
} ms_cached;

typedef struct ms_cached_pieces {
    ms_cached rests;    /* between or after blocks in use */
    ms_cached segments; /* whole free segments */
} ms_cached_pieces;

/* Lists the free blocks at the peak. */
ms_status ms_cached_find(const ms_ledger *ledger, ms_cached_pieces *cached, ms_error *err);

#endif
