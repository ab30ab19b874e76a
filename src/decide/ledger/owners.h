/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds the record of an item: the n-th item of a group is in the record of the n-th item of the
 * group's representative. Items are visited three times in the same order: to count them, to store
 * the records of representatives' items, to look records up.
 */
#ifndef MS_DECIDE_LEDGER_OWNERS_H
#define MS_DECIDE_LEDGER_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ms_owners {
    uint32_t *first, *next; /* per group: index of its first item; items visited so far */
    uint32_t *records;      /* per item */
    uint32_t group_count;
} ms_owners;

/* False when out of memory. */
bool ms_owners_init(ms_owners *owners, uint32_t group_count);
void ms_owners_free(ms_owners *owners);

void ms_owners_count(ms_owners *owners, uint32_t group);
/* Ends counting. False when out of memory. */
bool ms_owners_close(ms_owners *owners);
void ms_owners_put(ms_owners *owners, uint32_t group, uint32_t record);
/* Ends storing; lookups follow. */
void ms_owners_rewind(ms_owners *owners);
uint32_t ms_owners_take(ms_owners *owners, uint32_t group, uint32_t representative);

#endif
