/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An index as transformers writes it, read block by block without a tree: which files it names, and
 * what the names of their tensors sum to. What is accepted here, the strict reader (tensor_index.h)
 * accepts, but for names that come twice: the sums of their files are then not those of the
 * headers.
 */
#ifndef MS_INPUT_WEIGHTS_TENSOR_INDEX_QUICK_H
#define MS_INPUT_WEIGHTS_TENSOR_INDEX_QUICK_H

#include "base/arena.h"
#include "base/vec.h"

typedef struct ms_quick_file {
    const char *name;          /* of the arena */
    uint64_t tensors, digests; /* ms_plain_digest of their names, added */
} ms_quick_file;

typedef struct ms_quick_index {
    ms_vec(ms_quick_file) files; /* in the order in which they are first named */
    uint32_t last;               /* that was named last */
} ms_quick_index;

/* Where the text comes from: fills `to` with up to so many bytes; 0: there are no more. */
typedef struct ms_quick_source {
    size_t (*read)(void *context, char *to, size_t room);
    void *context;
} ms_quick_source;

/* False: it is for the strict reader, or memory is short. Free it in any case. */
bool ms_quick_index_read(ms_arena *arena, const ms_quick_source *source, ms_quick_index *index);
void ms_quick_index_free(ms_quick_index *index);

#endif
