/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/embedded.h"

#include <string.h>
#include <strings.h>

const ms_embedded *ms_embedded_find(const char *name)
{
    for (size_t i = 0; i < ms_embedded_count; i++)
        if (strcasecmp(ms_embedded_files[i].name, name) == 0)
            return &ms_embedded_files[i];
    return NULL;
}

static const char *find_text(const ms_embedded *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].text;
    return NULL;
}

const char *ms_embedded_code_find(const char *name)
{
    return find_text(ms_embedded_code, ms_embedded_code_count, name);
}

const char *ms_embedded_style_find(const char *name)
{
    return find_text(ms_embedded_styles, ms_embedded_style_count, name);
}

const char *ms_embedded_script_find(const char *name)
{
    return find_text(ms_embedded_scripts, ms_embedded_script_count, name);
}

const char *ms_embedded_keys_find(const char *name)
{
    return find_text(ms_embedded_keys, ms_embedded_key_count, name);
}

const ms_embedded *ms_embedded_family_find(const char *name)
{
    for (size_t i = 0; i < ms_embedded_family_count; i++)
        if (strcmp(ms_embedded_families[i].name, name) == 0)
            return &ms_embedded_families[i];
    return NULL;
}
