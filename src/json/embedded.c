/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "json/embedded.h"

#include <string.h>
#include <strings.h>

const ms_embedded *ms_embedded_find(const char *name)
{
    for (size_t i = 0; i < ms_embedded_count; i++)
        if (strcasecmp(ms_embedded_files[i].name, name) == 0)
            return &ms_embedded_files[i];
    return NULL;
}

const char *ms_embedded_code_find(const char *name)
{
    for (size_t i = 0; i < ms_embedded_code_count; i++)
        if (strcmp(ms_embedded_code[i].name, name) == 0)
            return ms_embedded_code[i].text;
    return NULL;
}
