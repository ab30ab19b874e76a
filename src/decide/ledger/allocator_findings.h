/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Findings about the allocator: whether each holds, and its sentence.
 */
#ifndef MS_DECIDE_LEDGER_ALLOCATOR_FINDINGS_H
#define MS_DECIDE_LEDGER_ALLOCATOR_FINDINGS_H

#include "decide/ledger/findings.h"

/* ---- finding ---- */

/* A finding while it is put together. */

/* A difference is worth a sentence from a twentieth of what the device needs. */
enum { MS_FINDING_WORTH = 20 };

typedef struct ms_telling {
    const ms_ledger *ledger;
    ms_arena *arena;
    ms_finding found;
    ms_error *err;
} ms_telling;

/* "12.50 GiB", in the arena. */
const char *ms_telling_size(const ms_telling *f, uint64_t bytes);
/* "--autocast bf16 needs 14.30 GiB less, --upcast no needs 15.02 GiB less"; "" for none. */
const char *ms_telling_remedies(const ms_telling *f);

/* The most is reserved where the model is built, and no step needs it. */
bool ms_allocator_is_built_most(const ms_ledger *ledger);
ms_status ms_allocator_tell_built(ms_telling *f);

/* Much more is reserved than is allocated at the peak. */
bool ms_allocator_caches_much(const ms_ledger *ledger);
ms_status ms_allocator_tell_cached(ms_telling *f);

/* Cached memory is given back to the device so that a run fits that would not. */
bool ms_allocator_retries(const ms_ledger *ledger);
ms_status ms_allocator_tell_retries(ms_telling *f);

/* ---- cached ---- */

/* Reserved memory that is not allocated at the peak. */

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
