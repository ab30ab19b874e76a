/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The least time for at least so many freed bytes, as pieces of straight lines: what many partial
 * plans achieve together. A piece says that each number of bytes from `low` to `high` is freed in a
 * time that rises evenly. An envelope is a list of pieces by falling bytes, of which no part frees
 * no more than another part does in no more time.
 */
#ifndef MS_DECIDE_PLAN_MODULES_ENVELOPE_H
#define MS_DECIDE_PLAN_MODULES_ENVELOPE_H

#include "base/vec.h"

typedef struct ms_piece {
    double low, high, low_ms, high_ms; /* low = high: a point */
    uint32_t label;                    /* of the caller's */
} ms_piece;

typedef ms_vec(ms_piece) ms_pieces;

/* The part of a piece between two numbers of bytes within it. */
ms_piece ms_piece_part(const ms_piece *piece, double low, double high);

/* Appends the envelope of two envelopes. False when out of memory. */
bool ms_envelope_merge(const ms_piece *a, uint32_t a_count, const ms_piece *b, uint32_t b_count,
                       ms_pieces *out);

/* Appends the envelope of pieces in any order; `scratch` is emptied. False when out of memory. */
bool ms_envelope_build(const ms_piece *pieces, uint32_t count, ms_pieces *scratch, ms_pieces *out);

#endif
