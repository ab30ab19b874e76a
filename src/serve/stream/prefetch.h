/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How many layers ahead to fetch: a list as people write it.
 */
#ifndef MS_SERVE_STREAM_PREFETCH_H
#define MS_SERVE_STREAM_PREFETCH_H

#include "base/error.h"
#include "base/vec.h"

enum { MS_STREAM_MOST_ROWS = 256 };

typedef struct ms_stream_prefetches {
    ms_vec(uint64_t) counts; /* each at least 1, ascending, none twice */
} ms_stream_prefetches;

/* "1:8", "1,2,4", "1:64:*2", "4:32:+4". MS_ERR_USAGE for anything else, for 0, and for more than
 * MS_STREAM_MOST_ROWS. On failure nothing is left to free. */
ms_status ms_stream_prefetch_read(const char *text, ms_stream_prefetches *list, ms_error *err);
void ms_stream_prefetch_free(ms_stream_prefetches *list);

#endif
