/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/names/preset.h"

#include <stdbool.h>
#include <string.h>

#include "base/text/nearest.h"

/* Embedded files that are no models. */
static const char *const tables[] = {"devices", "rates"};

static bool is_preset(const ms_embedded *file)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(file->name, tables[i]) == 0)
            return false;
    return true;
}

const ms_embedded *ms_preset_find(const char *name)
{
    for (size_t i = 0; i < ms_embedded_count; i++)
        if (ms_name_equal(ms_embedded_files[i].name, name) && is_preset(&ms_embedded_files[i]))
            return &ms_embedded_files[i];
    return NULL;
}

const char *ms_preset_name(size_t index)
{
    for (size_t i = 0; i < ms_embedded_count; i++)
        if (is_preset(&ms_embedded_files[i]) && index-- == 0)
            return ms_embedded_files[i].name;
    return NULL;
}
