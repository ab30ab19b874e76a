/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/unmodelled.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "config/nearest.h"

static const char fp8[] = "training in fp8 is not modelled";
static const char precision[] =
    "dtype and autocast say the precision; training in fp8 is not modelled";
static const char compiled[] = "torch.compile is not modelled: the step is run eagerly";

static const char *const settings[][2] = {
    {"compile", compiled}, {"torch-compile", compiled}, {"fp8", fp8},
    {"float8", fp8},       {"precision", precision},    {"mixed-precision", precision},
};

const char *ms_unmodelled_type(const char *name)
{
    static const char *const beginnings[] = {"fp8", "float8", "mxfp8"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncasecmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return fp8;
    return NULL;
}

const char *ms_unmodelled_setting(const char *name)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (ms_name_equal(settings[i][0], name))
            return settings[i][1];
    return NULL;
}
