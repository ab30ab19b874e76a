/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/modules/envelope.h"

#include <math.h>
#include <string.h>

/* The time at so many bytes within the piece. */
static double piece_ms(const ms_piece *piece, double bytes)
{
    if (bytes <= piece->low)
        return piece->low_ms;
    if (bytes >= piece->high)
        return piece->high_ms;
    double slope = (piece->high_ms - piece->low_ms) / (piece->high - piece->low);
    return piece->low_ms + slope * (bytes - piece->low);
}

ms_piece ms_piece_part(const ms_piece *piece, double low, double high)
{
    return (ms_piece){low, high, piece_ms(piece, low), piece_ms(piece, high), piece->label};
}

/* One of the two envelopes, from right to left. */
typedef struct side {
    const ms_piece *next;
    uint32_t left;
    ms_piece piece; /* what is left of the current one */
    double flat_ms; /* of what is passed: frees more, in this time */
} side;

static void take_next(side *s)
{
    s->flat_ms = s->piece.low_ms;
    if (s->left > 0) {
        s->left--;
        s->piece = *s->next++;
    } else
        s->piece = (ms_piece){.low = -INFINITY, .high = -INFINITY};
}

static side begin(const ms_piece *pieces, uint32_t count)
{
    side s = {.next = pieces, .left = count};
    take_next(&s);
    s.flat_ms = INFINITY;
    return s;
}

static bool has_piece(const side *s)
{
    return s->piece.high > -INFINITY;
}

/* What lies above `low` is done with. */
static void pass(side *s, double low)
{
    if (low <= s->piece.low)
        take_next(s);
    else
        s->piece = ms_piece_part(&s->piece, s->piece.low, low);
}

static bool emit(ms_pieces *out, uint32_t first, ms_piece piece)
{
    if (out->count > first) {
        ms_piece *last = &out->items[out->count - 1];
        if (last->label == piece.label && last->low == piece.high) {
            last->low = piece.low;
            last->low_ms = piece.low_ms;
            return true;
        }
    }
    return ms_vec_push(out, piece);
}

/* Bytes at which a line, given by its distance above another at both ends, crosses that one. */
static double crossing(double low, double high, double above_low, double above_high)
{
    double at = low + (high - low) * (above_low / (above_low - above_high));
    return at < low ? low : at > high ? high : at;
}

/* A part where the other envelope has no piece: what takes less time than what frees more there. */
static bool emit_alone(ms_pieces *out, uint32_t first, ms_piece part, double flat_ms)
{
    if (!(part.low_ms < flat_ms))
        return true;
    if (part.high_ms < flat_ms)
        return emit(out, first, part);
    double at = crossing(part.low, part.high, part.low_ms - flat_ms, part.high_ms - flat_ms);
    return emit(out, first, ms_piece_part(&part, part.low, at));
}

/* The lower of two parts over the same bytes. */
static bool emit_lower(ms_pieces *out, uint32_t first, ms_piece a, ms_piece b)
{
    double above_low = a.low_ms - b.low_ms, above_high = a.high_ms - b.high_ms;
    if (above_low <= 0 && above_high <= 0)
        return emit(out, first, a);
    if (above_low >= 0 && above_high >= 0)
        return emit(out, first, b);
    double at = crossing(a.low, a.high, above_low, above_high);
    const ms_piece *right = above_high < 0 ? &a : &b, *left = above_high < 0 ? &b : &a;
    return emit(out, first, ms_piece_part(right, at, a.high)) &&
           emit(out, first, ms_piece_part(left, a.low, at));
}

bool ms_envelope_merge(const ms_piece *a, uint32_t a_count, const ms_piece *b, uint32_t b_count,
                       ms_pieces *out)
{
    side sides[] = {begin(a, a_count), begin(b, b_count)};
    uint32_t first = out->count;
    bool is_fine = true;
    while (is_fine && (has_piece(&sides[0]) || has_piece(&sides[1]))) {
        side *s = &sides[sides[1].piece.high > sides[0].piece.high];
        side *other = s == sides ? &sides[1] : &sides[0];
        double low = s->piece.low;
        if (s->piece.high > other->piece.high) {
            low = low > other->piece.high ? low : other->piece.high;
            ms_piece part = ms_piece_part(&s->piece, low, s->piece.high);
            is_fine = emit_alone(out, first, part, other->flat_ms);
            pass(s, low);
            continue;
        }
        low = low > other->piece.low ? low : other->piece.low;
        is_fine = emit_lower(out, first, ms_piece_part(&s->piece, low, s->piece.high),
                             ms_piece_part(&other->piece, low, other->piece.high));
        pass(s, low);
        pass(other, low);
    }
    return is_fine;
}

bool ms_envelope_build(const ms_piece *pieces, uint32_t count, ms_pieces *scratch, ms_pieces *out)
{
    uint32_t first = out->count, half = count / 2;
    if (count <= 1)
        return count == 0 || ms_vec_push(out, pieces[0]);
    if (!ms_envelope_build(pieces, half, scratch, out))
        return false;
    uint32_t middle = out->count;
    if (!ms_envelope_build(pieces + half, count - half, scratch, out))
        return false;
    scratch->count = 0;
    if (!ms_envelope_merge(&out->items[first], middle - first, &out->items[middle],
                           out->count - middle, scratch))
        return false;
    for (out->count = first; out->count - first < scratch->count; out->count++) {
        if (!ms_vec_reserve(out))
            return false;
        out->items[out->count] = scratch->items[out->count - first];
    }
    return true;
}
