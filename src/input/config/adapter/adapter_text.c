/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/adapter/adapter_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "input/config/adapter/adapter_keys.h"

enum { PART_BYTES = 512 };

/* What is written, as long as nothing has failed. */
typedef struct writer {
    ms_arena *arena;
    const char *text;
} writer;

__attribute__((format(printf, 2, 3))) static void add(writer *w, const char *format, ...)
{
    char part[PART_BYTES];
    va_list args;
    va_start(args, format);
    ms_text_vprint(part, sizeof part, format, args);
    va_end(args);
    if (w->text)
        w->text = ms_arena_printf(w->arena, "%s%s%s", w->text, *w->text ? "," : "", part);
}

static void add_list(writer *w, const char *name, const ms_module_list *list)
{
    char names[PART_BYTES] = ""; /* more would be cut in any case */
    size_t used = 0;
    if (list->pattern) {
        add(w, "%s=/%s/", name, list->pattern);
        return;
    }
    for (uint32_t i = 0; i < list->count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? "+" : "",
                                 list->names[i]);
    if (*names)
        add(w, "%s=%s", name, names);
}

const char *ms_adapter_text(ms_arena *arena, const ms_adapter *adapter)
{
    writer w = {arena, ""};
    if (adapter->kind == MS_ADAPTER_IA3)
        add(&w, "ia3");
    else
        add(&w, "r=%" PRIu64, adapter->rank);
    if (adapter->all_linear)
        add(&w, "targets=all-linear");
    add_list(&w, "targets", &adapter->targets);
    add_list(&w, "exclude", &adapter->exclude);
    add_list(&w, "save", &adapter->saved);
    if (adapter->layer_count > 0)
        add(&w, "%" PRIu32 " layers", adapter->layer_count);
    if (adapter->rank_count > 0)
        add(&w, "%" PRIu32 " rank patterns", adapter->rank_count);
    if (adapter->bias != MS_ADAPTER_BIAS_NONE)
        add(&w, "bias=%s", ms_adapter_biases[adapter->bias]);
    if (adapter->has_bias)
        add(&w, "lora_bias");
    if (adapter->is_dora)
        add(&w, "dora");
    if (adapter->dropout > 0)
        add(&w, "dropout=%g", adapter->dropout);
    add(&w, "%s", ms_dtype_info_of(adapter->dtype)->short_name);
    return w.text;
}
