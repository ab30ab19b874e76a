/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/keys/versions.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/trainers/adapters/training_adapter.h"
#include "input/config/trainers/keys/format_marks.h"

enum { TRAINERS = TRAINER | AXOLOTL }; /* those that run transformers' Trainer */

static bool is_sft(const ms_training_reading *r)
{
    return r->is_sft;
}

static bool is_zero(const ms_training_reading *r)
{
    return r->ranks == MS_PARALLEL_ZERO;
}

/* The first are those of ms_framework. */
static const struct {
    const char *name, *version;
    uint32_t formats;
    bool (*is_in_use)(const ms_training_reading *r);
} frameworks[] = {
    {"transformers", "5.24", TRAINERS | V1, NULL},
    {"accelerate", "1.15", TRAINERS | V1, NULL},
    {"TRL", "1.16", HF, is_sft},
    {"PEFT", "0.21", TRAINERS | V1, ms_training_has_adapter},
    {"DeepSpeed", "0.19.8", TRAINERS | V1, is_zero},
    {"axolotl", "0.18", AXOLOTL, NULL},
    {"LLaMA-Factory", "0.9.5", FACTORY, NULL},
    {"LLaMA-Factory", "0.9.6's new trainer", V1, NULL},
    {"ms-swift", "4.6", SWIFT, NULL},
    {"torchtune", "0.6", TORCHTUNE, NULL},
    {"torchtitan", "of October 2025", TITAN, NULL},
};
enum { FRAMEWORKS = sizeof frameworks / sizeof *frameworks, WITH_RULES = 2 };

/* ---- versions that are given ---- */

/* The version in a list of that framework, which ends at a comma; NULL: none. */
static const char *given_version(const char *list, const char *name)
{
    const size_t length = strlen(name);
    while (list && *list) {
        if (strncmp(list, name, length) == 0 && list[length] == '=')
            return list + length + 1;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return NULL;
}

/* "4.57.3": numbers between dots. */
static bool is_version(const char *text, size_t length)
{
    enum { MOST = 16 };
    const char *end = text + length;
    if (length == 0 || length > MOST || text[0] == '.' || end[-1] == '.')
        return false;
    for (; text < end; text++)
        if ((*text < '0' || *text > '9') && !(*text == '.' && text[1] != '.'))
            return false;
    return true;
}

static bool has_rules(const char *name, size_t length)
{
    for (int i = 0; i < WITH_RULES; i++)
        if (strlen(frameworks[i].name) == length && strncmp(frameworks[i].name, name, length) == 0)
            return true;
    return false;
}

ms_status ms_training_check_versions(ms_training_reading *r)
{
    const char *list = r->draft->assume_version;
    while (list && *list && strcmp(list, "none") != 0) {
        const size_t bytes = strcspn(list, ","), name = strcspn(list, "=,");
        if (name == bytes || !is_version(list + name + 1, bytes - name - 1))
            return ms_fail(r->err, MS_ERR_USAGE,
                           "assume-version: '%.*s': expected a version, as accelerate=1.10",
                           (int)bytes, list);
        const char *other = list + bytes + (list[bytes] == ',');
        const char *copy = ms_arena_printf(r->arena, "%.*s", (int)name, list);
        if (!copy)
            return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for versions");
        if (given_version(other, copy))
            return ms_fail(r->err, MS_ERR_USAGE, "assume-version: '%s' is given twice", copy);
        if (!has_rules(list, name))
            return ms_fail(r->err, MS_ERR_USAGE,
                           "assume-version: no rule is known to depend on the version of '%.*s'; "
                           "some depend on those of transformers and accelerate",
                           (int)name, list);
        list += bytes + (list[bytes] == ',');
    }
    return MS_OK;
}

bool ms_training_is_before(const ms_training_reading *r, ms_framework framework, uint32_t major,
                           uint32_t minor)
{
    const char *version = given_version(r->draft->assume_version, frameworks[framework].name);
    char *end = NULL;
    if (!version)
        return false;
    const unsigned long first = strtoul(version, &end, 10);
    const unsigned long second = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return first < major || (first == major && second < minor);
}

/* ---- versions that are told ---- */

static bool is_in_use(const ms_training_reading *r, size_t i)
{
    return (frameworks[i].formats & 1U << r->file.format) &&
           (!frameworks[i].is_in_use || frameworks[i].is_in_use(r));
}

ms_status ms_training_tell_versions(ms_training_reading *r)
{
    const char *text = "";
    for (size_t i = 0; i < FRAMEWORKS && text; i++) {
        const char *given = given_version(r->draft->assume_version, frameworks[i].name);
        const char *version = given ? given : frameworks[i].version;
        if (is_in_use(r, i))
            text = ms_arena_printf(r->arena, "%s%s%s %.*s", text, *text ? ", " : "",
                                   frameworks[i].name, (int)strcspn(version, ","), version);
    }
    r->keys->versions = text;
    return text ? MS_OK : ms_fail(r->err, MS_ERR_NOMEM, "out of memory for versions");
}
