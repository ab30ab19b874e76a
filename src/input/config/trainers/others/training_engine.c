/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As TRL 1.16 has it: an engine runs in the trainer's process unless vllm_mode is "server".
 */
#include "input/config/trainers/others/training_engine.h"

#include <string.h>

#include "input/config/trainers/training_ranks.h"

/* What TRL hands on where nothing is given. */
static const double usual_share = 0.3;

/* TRL has its keys at the top, axolotl in an object; Unsloth's loader names the share alone. */
static const char *const objects[] = {"", "/trl"};
static const char *const shares[] = {"/vllm_gpu_memory_utilization", "/gpu_memory_utilization"};
enum { OBJECTS = sizeof objects / sizeof *objects, SHARES = sizeof shares / sizeof *shares };

static bool find(const ms_training_reading *r, ms_json_value root, const char *object,
                 const char *key, ms_json_value *value)
{
    const char *pointer = ms_arena_printf(r->arena, "%s%s", object, key);
    return pointer && ms_json_find_pointer(root, pointer, value) &&
           ms_json_kind_of(*value) != MS_JSON_NULL;
}

static bool find_share(const ms_training_reading *r, ms_json_value root, const char *object,
                       ms_json_value *value)
{
    for (size_t i = 0; i < SHARES; i++)
        if (find(r, root, object, shares[i], value))
            return true;
    return false;
}

/* Whether an engine is beside the training, not on devices of its own or asleep meanwhile. */
static bool has_engine(const ms_training_reading *r, ms_json_value root, const char *object)
{
    ms_json_value value;
    bool has_share = find_share(r, root, object, &value);
    bool is_used =
        find(r, root, object, "/use_vllm", &value) ? ms_training_truth(value, false) : has_share;
    bool is_server = find(r, root, object, "/vllm_mode", &value) &&
                     strcmp(ms_training_value_text(value), "server") == 0;
    bool sleeps =
        find(r, root, object, "/vllm_enable_sleep_mode", &value) && ms_training_truth(value, false);
    return is_used && !is_server && !sleeps;
}

static ms_status take_share(ms_training_reading *r, ms_json_value root, const char *object)
{
    ms_json_value value;
    double share = usual_share;
    if (find_share(r, root, object, &value)) {
        share = ms_training_value_number(value);
        if (!(share > 0 && share <= 1))
            return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "expected a share of the device, above 0 and at most 1");
    }
    r->draft->engine_share = share;
    return MS_OK;
}

ms_status ms_training_set_engine(ms_training_reading *r, ms_json_value root)
{
    for (size_t i = 0; i < OBJECTS; i++)
        if (has_engine(r, root, objects[i]))
            return take_share(r, root, objects[i]);
    return MS_OK;
}
