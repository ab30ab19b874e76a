/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/words.h"

/* clang-format off */
static const char *const phases[] = {
    [MS_PHASE_BUILD]      = "build",
    [MS_PHASE_FORWARD]    = "forward",
    [MS_PHASE_BACKWARD]   = "backward",
    [MS_PHASE_CLIP]       = "clip",
    [MS_PHASE_OPTIMIZER]  = "optimizer",
    [MS_PHASE_ZERO_GRAD]  = "zero_grad",
    [MS_PHASE_EVALUATION] = "evaluation",
};
static const char *const passes[] = {
    [MS_PASS_FORWARD]   = "forward",
    [MS_PASS_RECOMPUTE] = "recompute",
    [MS_PASS_BACKWARD]  = "backward",
    [MS_PASS_UPDATE]    = "update",
};
static const char *const categories[] = {
    [MS_CATEGORY_WEIGHT]          = "weight",
    [MS_CATEGORY_BUFFER]          = "buffer",
    [MS_CATEGORY_GRADIENT]        = "gradient",
    [MS_CATEGORY_OPTIMIZER_STATE] = "optimizer_state",
    [MS_CATEGORY_INPUT]           = "input",
    [MS_CATEGORY_ACTIVATION]      = "activation",
    [MS_CATEGORY_TEMPORARY]       = "temporary",
    [MS_CATEGORY_WORKSPACE]       = "workspace",
};
static const char *const symbols[] = {
    [MS_SYMBOL_NUMBER]  = "number",
    [MS_SYMBOL_NAME]    = "name",
    [MS_SYMBOL_PRODUCT] = "product",
    [MS_SYMBOL_SUM]     = "sum",
    [MS_SYMBOL_REST]    = "rest",
    [MS_SYMBOL_HALF]    = "half",
    [MS_SYMBOL_CEIL]    = "ceil",
};
static const char *const streams[] = {
    [MS_STREAM_COMPUTE]    = "compute",
    [MS_STREAM_COPY]       = "copy",
    [MS_STREAM_COLLECTIVE] = "collective",
    [MS_STREAM_HOST]       = "host",
};
static const char *const links[] = {
    [MS_LINK_NONE]        = "none",
    [MS_LINK_HOST]        = "host",
    [MS_LINK_HOST_MEMORY] = "host_memory",
    [MS_LINK_PEER]        = "peer",
};
static const char *const works[] = {
    [MS_WORK_TO_DEVICE]      = "to_device",
    [MS_WORK_TO_HOST]        = "to_host",
    [MS_WORK_HOST_UPDATE]    = "host_update",
    [MS_WORK_ALL_GATHER]     = "all_gather",
    [MS_WORK_REDUCE_SCATTER] = "reduce_scatter",
    [MS_WORK_ALL_REDUCE]     = "all_reduce",
    [MS_WORK_SEND]           = "send",
    [MS_WORK_RECEIVE]        = "receive",
};
/* clang-format on */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
_Static_assert(COUNT(phases) == MS_PHASE_COUNT, "a phase has no word");
_Static_assert(COUNT(passes) == MS_PASS_UPDATE + 1, "a pass has no word");
_Static_assert(COUNT(categories) == MS_CATEGORY_COUNT, "a category has no word");
_Static_assert(COUNT(symbols) == MS_SYMBOL_CEIL + 1, "a kind of symbol has no word");
_Static_assert(COUNT(streams) == MS_STREAM_KINDS, "a kind of stream has no word");
_Static_assert(COUNT(links) == MS_LINK_COUNT, "a link has no word");
_Static_assert(COUNT(works) == MS_WORK_KINDS, "a kind of work has no word");

const ms_words ms_phase_words = {phases, COUNT(phases), 0, 0};
const ms_words ms_pass_words = {passes, COUNT(passes), 0, 0};
const ms_words ms_category_words = {categories, COUNT(categories), 0, 0};
const ms_words ms_symbol_words = {symbols, COUNT(symbols), 0, 0};
const ms_words ms_stream_words = {streams, COUNT(streams), 0, 0};
const ms_words ms_link_words = {links, COUNT(links), 0, 0};
const ms_words ms_work_words = {works, COUNT(works), 0, 0};
