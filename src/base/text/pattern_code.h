/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A pattern as the states of an automaton: each consumes a character, or leads to one or two other
 * states. Offsets are relative, so that a range of states can be copied. Written by pattern_read.c,
 * run by pattern.c.
 */
#ifndef MS_BASE_TEXT_PATTERN_CODE_H
#define MS_BASE_TEXT_PATTERN_CODE_H

#include "base/vec.h"
#include "base/text/pattern.h"

typedef enum ms_state_kind {
    MS_STATE_BYTE,  /* consumes `byte` */
    MS_STATE_ANY,   /* consumes any character but a line break */
    MS_STATE_SET,   /* consumes one of sets[set] */
    MS_STATE_SPLIT, /* leads to the next state and to the one `offset` further */
    MS_STATE_JUMP,  /* leads to the state `offset` further */
    MS_STATE_BEGIN, /* passes at the beginning of the subject */
    MS_STATE_END,   /* passes at its end */
    MS_STATE_FOUND
} ms_state_kind;

typedef struct ms_state {
    uint8_t kind; /* ms_state_kind */
    uint8_t byte;
    uint16_t set;
    int32_t offset;
} ms_state;

typedef struct ms_byte_set {
    uint8_t bits[32];
} ms_byte_set;

typedef struct ms_pattern_code {
    ms_vec(ms_state) states;
    ms_vec(ms_byte_set) sets;
} ms_pattern_code;

static inline bool ms_byte_set_has(const ms_byte_set *set, uint8_t byte)
{
    return (set->bits[byte / 8] >> byte % 8 & 1) != 0;
}

#endif
