/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/sharding/training_config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "input/config/model/input.h"
#include "input/config/trainers/keys/key_walk.h"
#include "input/config/trainers/others/swift_configs.h"
#include "input/config/trainers/sharding/training_v1_ranks.h"
#include "input/config/trainers/fsdp/training_fsdp.h"
#include "input/config/trainers/training_ranks.h"
#include "input/config/trainers/sharding/training_mesh.h"
#include "input/config/trainers/training_recipes.h"
#include "input/config/trainers/training_zero.h"
#include "base/json/read.h"
#include "base/json/yaml.h"

/* What ms-swift has for FSDP: one value for `fsdp` and fsdp_config. False: it is a name, or a path.
 */
static bool take_swift(ms_training_ranks *t, ms_json_value value)
{
    if (ms_json_kind_of(value) != MS_JSON_OBJECT)
        return false;
    t->root = value;
    if (!ms_json_find(value, "fsdp_config", &t->config))
        t->config = value;
    return true;
}

/* The configuration that shards, of FSDP, DeepSpeed or accelerate, or its path, in *named. */
static void find_config(ms_training_ranks *t, bool is_zero, const char **path, ms_json_value *named)
{
    ms_json_value value;
    bool is_swift = t->r->file.format == MS_TRAINING_SWIFT && !is_zero && !t->is_launched;
    if (is_swift && ms_json_find(t->root, "fsdp", &value)) {
        if (!take_swift(t, value)) {
            *named = value;
            *path = ms_training_value_text(value);
        }
        return;
    }
    if (t->r->file.format == MS_TRAINING_V1) {
        t->has_own_config = is_zero;
        if (is_zero && ms_json_find_pointer(t->root, "/dist_config/config_file", named))
            *path = ms_training_value_text(*named);
        return;
    }
    const char *key = is_zero ? t->is_launched ? "deepspeed_config" : "deepspeed" : "fsdp_config";
    t->has_own_config = is_zero && !t->is_launched && !ms_json_find(t->root, key, &value);
    if (t->has_own_config || !ms_json_find(t->root, key, &value))
        return; /* the file itself, which has none of the others' keys */
    t->config = *named = value;
    if (ms_json_find(value, "deepspeed_config_file", &value))
        *named = value;
    *path = ms_training_value_text(*named);
    t->has_own_config = is_zero && (**path || !t->is_launched);
}

static ms_status read_config(ms_training_ranks *t, bool is_zero, bool *is_read)
{
    bool is_short = is_zero && !t->has_own_config;
    if (t->r->file.format == MS_TRAINING_TORCHTUNE)
        return ms_training_read_recipe(t, is_read);
    if (t->r->file.format == MS_TRAINING_TITAN)
        return ms_training_read_titan(t, is_read);
    if (t->r->file.format == MS_TRAINING_V1 && !is_zero)
        return ms_training_read_v1(t, is_read);
    return is_zero ? ms_training_read_zero(t, is_short, is_read)
                   : ms_training_read_fsdp(t, is_read);
}

/* A document that a value names, if it is there: a file, or a configuration inside of ms-swift. */
static ms_status open_named(const ms_training_ranks *t, ms_json_value named, ms_json **document,
                            char **text)
{
    ms_training_reading *r = t->r;
    ms_error reason = {0};
    ms_json_source source;
    const char *path = ms_training_value_text(named);
    const char *own = r->file.format == MS_TRAINING_SWIFT ? ms_training_swift_config(named) : NULL;
    if (own) {
        source = (ms_json_source){path, own, strlen(own)};
        return ms_json_parse(&source, document, r->err);
    }
    const char *beside = ms_path_beside(r->arena, ms_json_file_name(named), path);
    if (!beside)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a path");
    if (!ms_is_regular_file(beside) && ms_is_regular_file(path))
        beside = path;
    if (!ms_is_regular_file(beside) && t->is_given)
        return MS_OK;
    if (!ms_is_regular_file(beside))
        return ms_json_fail(r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "there is no file '%.80s', which this file names for its sharding",
                            path);
    if (ms_json_read(ms_arena_inputs(r->arena), beside, &source, text, &reason) != MS_OK)
        return ms_json_fail(r->err, t->sharding->value, MS_JSON_AT_KEY, reason.status, "%.160s: %s",
                            beside, reason.text);
    return ms_json_or_yaml_parse(&source, document, r->err);
}

static ms_status read_named(ms_training_ranks *t, ms_json_value named, bool is_zero, bool *is_read)
{
    char *text = NULL;
    ms_json *document = NULL;
    ms_status status = open_named(t, named, &document, &text);
    *is_read = status == MS_OK && document;
    if (*is_read) {
        t->config = ms_json_root(document);
        if (!is_zero && t->r->file.format == MS_TRAINING_SWIFT && !t->is_launched)
            (void)take_swift(t, t->config);
        status = read_config(t, is_zero, is_read);
    }
    if (status == MS_OK && *is_read)
        status =
            ms_training_walk_keys(t->r, MS_TRAINING_HF, t->config, is_zero ? "" : "fsdp_config");
    ms_json_free(document);
    free(text);
    return status;
}

bool ms_training_knows_sharding(const ms_sharding *s, ms_training_format format, bool *is_zero)
{
    *is_zero = strcmp(s->library, "DeepSpeed") == 0;
    bool is_fsdp = strcmp(s->library, "FSDP") == 0;
    if (format == MS_TRAINING_TORCHTUNE || format == MS_TRAINING_TITAN)
        return true;
    return is_fsdp || *is_zero;
}

ms_status ms_training_read_ranks(ms_training_reading *r, const ms_sharding *s, ms_json_value root,
                                 bool is_zero, bool *is_read)
{
    ms_json_value type, named = root;
    const char *path = "";
    /* without a configuration, of FSDP a value that has no keys */
    ms_training_ranks t = {.r = r,
                           .sharding = s,
                           .root = root,
                           .config = is_zero ? root : s->value,
                           .is_given = ms_run_field_is_set(r->draft, "parallel")};
    t.is_launched = ms_json_find(root, "distributed_type", &type) &&
                    strcasecmp(ms_training_value_text(type), is_zero ? "DEEPSPEED" : "FSDP") == 0;
    find_config(&t, is_zero, &path, &named);
    ms_status status = ms_training_read_mesh(&t, is_read);
    if (status == MS_OK && *is_read)
        status =
            *path ? read_named(&t, named, is_zero, is_read) : read_config(&t, is_zero, is_read);
    if (status != MS_OK || !*is_read)
        return status;
    r->ranks = r->draft->run.parallel.layout.kind;
    return ms_training_note_ranks(&t);
}
