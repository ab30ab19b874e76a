/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/resolve/resolving.h"

#include <stdarg.h>

#include "base/locale.h"

ms_status ms_resolve_fail(const ms_resolving *c, const char *field, const char *format, ...)
{
    char text[192];
    int index = ms_run_field_find(field);
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    if (c->origins->in_file[index])
        return ms_json_fail(c->err, c->origins->values[index], MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "%s", text);
    if (!c->origins->places[index])
        return ms_fail(c->err, MS_ERR_CONFIG, "%s: %s", field, text);
    ms_status status = ms_fail(c->err, MS_ERR_CONFIG, "%s", text);
    ms_error_copy_place(c->err, c->origins->places[index]);
    return status;
}

bool ms_resolve_has_adapter(const ms_resolving *c)
{
    return ms_resolve_is_set(c, "adapter") || ms_run_has_lora(c->draft);
}

bool ms_resolve_is_reentrant(const ms_resolving *c)
{
    for (uint64_t i = 0; i < c->model->num_layers; i++)
        if (c->run->treatments.layers[i].kind == MS_TREAT_CHECKPOINT)
            return c->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
    return false;
}
