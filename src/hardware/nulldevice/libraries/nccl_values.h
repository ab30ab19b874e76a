/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Communicators, all that is known of which is in the handle, and what ranks that hold the same as
 * this one give it.
 */
#ifndef MS_NULLDEVICE_NCCL_VALUES_H
#define MS_NULLDEVICE_NCCL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranks 0: unknown, as of a communicator that was split off. */
void *ms_null_communicator(int ranks, int rank);
int ms_null_ranks_of(const void *handle);
int ms_null_rank_of(const void *handle);

/* 0 of an unknown type. */
uint64_t ms_null_nccl_bytes(size_t count, int type);
/* Writes the sum over the ranks; false where the values or what they add up to are not known. */
bool ms_null_sum(const void *from, void *to, size_t count, int type, int ranks);

#endif
