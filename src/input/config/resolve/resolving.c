/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolving.h"

#include <stdarg.h>
#include <string.h>

#include "base/locale.h"
#include "input/config/model/model_config.h"

/* Where a file has the field, or what a field of ranks that is not set belongs to; NULL: nowhere.
 */
static const ms_error *place_of(const ms_resolving *c, const char *field, bool *has_name)
{
    static const char layout[] = "parallel";
    const int index = ms_run_field_find(field);
    const bool is_of_ranks = strcmp(ms_run_table.texts[index].group,
                                    ms_run_table.texts[ms_run_field_find(layout)].group) == 0;
    const ms_error *place = c->origins->places[index];
    if (!place && is_of_ranks && !ms_resolve_is_set(c, field))
        place = c->origins->places[ms_run_field_find(layout)];
    *has_name = place && (strcmp(field, layout) == 0 || strcmp(place->text, field) == 0);
    return place;
}

ms_status ms_resolve_fail(const ms_resolving *c, const char *field, const char *format, ...)
{
    char text[192];
    bool has_name;
    int index = ms_run_field_find(field);
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    if (c->origins->in_file[index])
        return ms_json_fail(c->err, c->origins->values[index], MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "%s", text);
    const ms_error *place = place_of(c, field, &has_name);
    ms_status status =
        ms_fail(c->err, MS_ERR_CONFIG, "%s%s%s", has_name ? "" : field, has_name ? "" : ": ", text);
    ms_error_copy_place(c->err, place);
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
