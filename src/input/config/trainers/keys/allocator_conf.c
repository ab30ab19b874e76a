/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As PyTorch 2.11 reads it: parts with commas between, each with a colon behind its name.
 */
#include "input/config/trainers/keys/allocator_conf.h"

#include <string.h>
#include <strings.h>

#include "base/text/nearest.h"

const char *const ms_allocator_conf_names[] = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
                                               NULL};

bool ms_allocator_conf_is_older(const ms_run_draft *draft)
{
    enum { FIRST_MINOR = 9 };
    return ms_run_field_is_set(draft, "torch") && draft->run.torch_major == 2 &&
           draft->run.torch_minor < FIRST_MINOR;
}

void ms_allocator_conf_heed_axolotl(ms_allocator_conf *conf, const ms_run_draft *draft)
{
    conf->is_replaced = conf->name && strcmp(conf->name, ms_allocator_conf_names[0]) != 0 &&
                        !ms_allocator_conf_is_older(draft);
}

/* ---- parts ---- */

typedef struct part {
    const char *name, *value; /* in the arena */
} part;

/* The option that a part sets, and its value; NULL: none that is predicted. */
static const char *field_of(const part *p, ms_arena *arena, const char **value)
{
    static const char splitting[] = "max_split_size_mb", rounding[] = "roundup_power2_divisions";
    bool is_on = strcasecmp(p->value, "true") == 0;
    if (strcmp(p->name, "expandable_segments") == 0) {
        *value = is_on ? "cuda-expandable" : "cuda";
        return is_on || strcasecmp(p->value, "false") == 0 ? "allocator" : NULL;
    }
    *value = p->value;
    if (strcmp(p->name, rounding) == 0)
        return "roundup-power2-divisions";
    if (strcmp(p->name, splitting) != 0)
        return NULL;
    *value = ms_arena_printf(arena, "%sMiB", p->value);
    return "max-split-size";
}

/* What only the host's memory has, or a process that limits its share of the device. */
static bool is_harmless(const char *name)
{
    return strncmp(name, "pinned_", strlen("pinned_")) == 0 ||
           strcmp(name, "garbage_collection_threshold") == 0;
}

static ms_status take_part(const ms_allocator_conf *conf, const part *p, ms_arena *arena,
                           ms_run_draft *draft, ms_read_keys *keys, ms_error *err)
{
    const char *value = NULL, *field = field_of(p, arena, &value);
    ms_error refused = {0};
    ms_read_key key = {.file = ms_arena_strdup(arena, conf->file),
                       .line = conf->line,
                       .key = ms_arena_printf(arena, "%s%s/%s", conf->inside ? conf->inside : "",
                                              conf->name, p->name),
                       .value = p->value,
                       .meaning = field,
                       .reading = MS_KEY_USED};
    if (field && !value)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the allocator");
    if (field && !ms_run_field_is_set(draft, field) &&
        ms_run_field_set(draft, arena, field, value, &refused) != MS_OK)
        field = NULL;
    if (!field) {
        bool matters = !is_harmless(p->name);
        key.meaning = "the allocator";
        key.reading = matters ? MS_KEY_NOT_PREDICTED : MS_KEY_HARMLESS;
        key.effect = matters ? MS_EFFECT_EITHER : MS_EFFECT_NONE;
    }
    return ms_read_keys_add(keys, arena, key, err);
}

/* The variable as a whole, of which no part is taken. */
static ms_status add_whole(const ms_allocator_conf *conf, ms_arena *arena, ms_read_keys *keys,
                           ms_error *err)
{
    ms_read_key key = {.file = ms_arena_strdup(arena, conf->file),
                       .line = conf->line,
                       .key = conf->name,
                       .value = ms_arena_printf(arena, conf->is_replaced ? "%.120s" : "(%.120s)",
                                                conf->is_replaced ? conf->value : conf->unknown),
                       .meaning = "the allocator",
                       .reading = MS_KEY_NOT_PREDICTED,
                       .effect = MS_EFFECT_EITHER};
    if (conf->is_replaced) {
        key.meaning = "the allocator: axolotl sets PYTORCH_ALLOC_CONF, which PyTorch reads first";
        key.reading = MS_KEY_HARMLESS;
        key.effect = MS_EFFECT_NONE;
    }
    return ms_read_keys_add(keys, arena, key, err);
}

ms_status ms_allocator_conf_apply(const ms_allocator_conf *conf, ms_arena *arena,
                                  ms_run_draft *draft, ms_read_keys *keys, ms_error *err)
{
    ms_status status = MS_OK;
    if (conf->is_replaced || (conf->name && conf->unknown))
        return add_whole(conf, arena, keys, err);
    bool on_cpu = ms_run_field_is_set(draft, "device") && ms_name_equal(draft->device, "cpu");
    for (const char *at = conf->name && !on_cpu ? conf->value : ""; *at && status == MS_OK;) {
        size_t bytes = strcspn(at, ","), name = strcspn(at, ":,");
        bool has_value = name < bytes;
        const part p = {ms_arena_printf(arena, "%.*s", (int)name, at),
                        ms_arena_printf(arena, "%.*s", has_value ? (int)(bytes - name - 1) : 0,
                                        at + name + has_value)};
        if (!p.name || !p.value)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for the allocator");
        if (bytes > 0)
            status = take_part(conf, &p, arena, draft, keys, err);
        at += bytes + (at[bytes] == ',');
    }
    return status;
}
