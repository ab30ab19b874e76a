/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/owners.h"

#include <stdlib.h>
#include <string.h>

bool ms_owners_init(ms_owners *owners, uint32_t group_count)
{
    *owners = (ms_owners){.group_count = group_count};
    owners->first = calloc((size_t)group_count + 1, sizeof *owners->first);
    owners->next = calloc((size_t)group_count + 1, sizeof *owners->next);
    return owners->first && owners->next;
}

void ms_owners_free(ms_owners *owners)
{
    free(owners->first);
    free(owners->next);
    free(owners->records);
}

void ms_owners_count(ms_owners *owners, uint32_t group)
{
    owners->next[group]++;
}

bool ms_owners_close(ms_owners *owners)
{
    uint32_t total = 0;
    for (uint32_t g = 0; g < owners->group_count; g++) {
        owners->first[g] = total;
        total += owners->next[g];
    }
    ms_owners_rewind(owners);
    owners->records = calloc((size_t)total + 1, sizeof *owners->records);
    return owners->records != NULL;
}

void ms_owners_put(ms_owners *owners, uint32_t group, uint32_t record)
{
    owners->records[owners->first[group] + owners->next[group]++] = record;
}

void ms_owners_rewind(ms_owners *owners)
{
    memset(owners->next, 0, ((size_t)owners->group_count + 1) * sizeof *owners->next);
}

uint32_t ms_owners_take(ms_owners *owners, uint32_t group, uint32_t representative)
{
    return owners->records[owners->first[representative] + owners->next[group]++];
}
