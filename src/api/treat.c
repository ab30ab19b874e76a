/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memscope/treat.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/config/treatment/treatment.h"
#include "decide/plan/trainers/pytorch_code.h"
#include "base/text/output.h"

static ms_status write_code(ms_arena *arena, const char *treat, uint32_t count, bool is_reentrant,
                            FILE *out, ms_error *err)
{
    ms_treatments treatments = {.layers =
                                    arena ? ms_arena_array(arena, ms_treatment, count) : NULL};
    if (!treatments.layers)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the treatments");
    ms_status status = ms_treatments_apply(treat, arena, count, &treatments, err);
    for (uint32_t i = 0; i < count && status == MS_OK; i++)
        if (treatments.layers[i].kind == MS_TREAT_SELECTIVE && !treatments.layers[i].kept_count)
            status = ms_fail(err, MS_ERR_USAGE,
                             "layer %" PRIu32 ": selective:%.9g names no operators; memscope plan "
                             "and memscope analyze choose them by the run",
                             i, treatments.layers[i].share);
    if (status != MS_OK)
        return status;
    const char *code = ms_pytorch_treat(arena, &treatments, count, is_reentrant);
    if (!code)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the code of the treatments");
    fputs(code, out);
    return ms_output_finish(out, "the code of the treatments", err);
}

ms_status ms_treat_write_code(const char *treat, uint32_t layers, const char *checkpoint_kind,
                              FILE *out, ms_error *err)
{
    if (!treat || !checkpoint_kind || !out)
        return ms_fail_null(err);
    bool is_reentrant = strcmp(checkpoint_kind, "reentrant") == 0;
    if (!is_reentrant && strcmp(checkpoint_kind, "non-reentrant") != 0)
        return ms_fail(err, MS_ERR_USAGE,
                       "found checkpoint kind '%s', expected non-reentrant or reentrant",
                       checkpoint_kind);
    if (layers < 1 || layers > MS_TREAT_MOST_LAYERS)
        return ms_fail(err, MS_ERR_USAGE, "found %" PRIu32 " layers, expected 1 to %d", layers,
                       MS_TREAT_MOST_LAYERS);
    ms_arena *arena = ms_arena_create(0);
    ms_status status = write_code(arena, treat, layers, is_reentrant, out, err);
    ms_arena_free(arena);
    return status;
}
