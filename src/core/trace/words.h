/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of the enums of a trace, as trace files and JSON reports spell them.
 */
#ifndef MS_CORE_TRACE_WORDS_H
#define MS_CORE_TRACE_WORDS_H

#include "base/words.h"
#include "core/trace/trace.h"

extern const ms_words ms_phase_words;     /* "forward", ... of ms_phase */
extern const ms_words ms_pass_words;      /* "recompute", ... of ms_pass */
extern const ms_words ms_category_words;  /* "optimizer_state", ... of ms_category */
extern const ms_words ms_category_titles; /* "optimizer states", ... */
extern const ms_words ms_symbol_words;    /* "product", ... of ms_symbol_kind */
extern const ms_words ms_stream_words;    /* "compute", ... of ms_stream_kind */
extern const ms_words ms_link_words;      /* "host_memory", ... of ms_link */
extern const ms_words ms_work_words;      /* "all_gather", ... of ms_work_kind */

#endif
