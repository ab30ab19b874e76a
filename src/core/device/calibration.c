/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/device/calibration.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAJOR = 1 };

#define MOST_BYTES 1000000000000
#define MOST_MARGIN 10
#define MOST_SLOWDOWN 10000
#define MOST_RATE 1000000000000000
const ms_parameter_row ms_parameter_rows[] = {
    [MS_PARAMETER_CONTEXT] = {"context", MOST_BYTES, true},
    [MS_PARAMETER_WORKSPACE] = {"workspaces", MOST_BYTES, true},
    [MS_PARAMETER_MARGIN] = {"margin on reserved memory", MOST_MARGIN, false},
    [MS_PARAMETER_PRODUCT] = {"matrix products, times the roofline", MOST_SLOWDOWN, false},
    [MS_PARAMETER_ATTENTION] = {"attention, times the roofline", MOST_SLOWDOWN, false},
    [MS_PARAMETER_OTHER] = {"other operators, times the roofline", MOST_SLOWDOWN, false},
    [MS_PARAMETER_HOST_LINK] = {"link to the host", MOST_RATE, false},
    [MS_PARAMETER_PEER_LINK] = {"link between devices", MOST_RATE, false},
};
_Static_assert(sizeof ms_parameter_rows / sizeof ms_parameter_rows[0] == MS_PARAMETER_COUNT,
               "a parameter has no row");

/* ---- members ---- */

enum { MOST_POINTS = 1000000 };

/* What is below `from` or above `to` is refused. */
#define FITTED(table, from, to, digits)                                                            \
    static const ms_member table##_members[] = {                                                   \
        MS_MEMBER(ms_fitted, "value", value, .decimals = (digits), .least = (from), .most = (to)), \
        MS_MEMBER(ms_fitted, "low", low, .decimals = (digits), .least = (from), .most = (to)),     \
        MS_MEMBER(ms_fitted, "high", high, .decimals = (digits), .least = (from), .most = (to)),   \
        MS_MEMBER(ms_fitted, "points", points, .least = 1, .most = MOST_POINTS),                   \
    };                                                                                             \
    static const ms_members table = MS_MEMBERS(ms_fitted, table##_members, .is_inline = true)
FITTED(bytes, 0, MOST_BYTES, 0);
FITTED(margin, 0, MOST_MARGIN, 6);
FITTED(slowdown, 1, MOST_SLOWDOWN, 6);
FITTED(rate, 1, MOST_RATE, 6);

#define PARAMETER(key, kind, table)                                                                \
    MS_MEMBER(ms_calibration, key, parameters[MS_PARAMETER_##kind], .inner = &(table),             \
              .rules = MS_IF_ANY,                                                                  \
              .when = MS_PLACE(ms_calibration, parameters[MS_PARAMETER_##kind].points))
static const ms_member parameter_members[] = {
    PARAMETER("context_bytes", CONTEXT, bytes),
    PARAMETER("workspace_bytes", WORKSPACE, bytes),
    PARAMETER("margin", MARGIN, margin),
    PARAMETER("product_slowdown", PRODUCT, slowdown),
    PARAMETER("attention_slowdown", ATTENTION, slowdown),
    PARAMETER("other_slowdown", OTHER, slowdown),
    PARAMETER("host_link_bytes_per_s", HOST_LINK, rate),
    PARAMETER("peer_link_bytes_per_s", PEER_LINK, rate),
};
static const ms_members parameter_table = MS_MEMBERS(ms_calibration, parameter_members);
static const ms_member members[] = {
    MS_MEMBER(ms_calibration, "device", device),
    MS_MEMBER(ms_calibration, "points", points, .least = 1, .most = MOST_POINTS),
    MS_PART("parameters", &parameter_table),
};
const ms_members ms_calibration_table = MS_MEMBERS(ms_calibration, members);

/* ---- reading ---- */

/* What rows do not say: which parameters there are, and how their figures are related. */
static ms_status check_parameters(ms_json_value parameters, const ms_calibration *c, ms_error *err)
{
    ms_json_value v;
    for (bool more = ms_json_first(parameters, &v); more; more = ms_json_next(&v)) {
        int i = 0;
        while (i < MS_PARAMETER_COUNT && strcmp(parameter_members[i].name, ms_json_key(v)) != 0)
            i++;
        if (i == MS_PARAMETER_COUNT)
            return ms_json_fail(err, v, MS_JSON_AT_KEY, MS_ERR_CONFIG, "unknown parameter '%.40s'",
                                ms_json_key(v));
        const ms_fitted *f = &c->parameters[i];
        if (!(f->low <= f->value && f->value <= f->high))
            return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "the value is not between low and high");
    }
    return MS_OK;
}

static ms_status check_version(ms_json_value root, ms_json_value *parameters, ms_error *err)
{
    ms_json_value v;
    const char *version = NULL;
    if (!ms_json_find(root, "schema_version", &v) || !ms_json_find(root, "parameters", parameters))
        return ms_json_fail(err, root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "it is not a calibration: expected a file that `memscope calibrate -o "
                            "calibration.json` writes");
    ms_status status = ms_json_get_string(v, &version, err);
    if (status == MS_OK && (strncmp(version, "1.", 2) != 0))
        return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "unknown calibration version %.20s, expected %d.x", version, MAJOR);
    return status;
}

ms_status ms_calibration_read(ms_arena *arena, ms_json_value root, ms_calibration *c, ms_error *err)
{
    const ms_members_reading reading = {.what = "a calibration", .arena = arena, .err = err};
    ms_json_value parameters;
    *c = (ms_calibration){0};
    ms_status status = check_version(root, &parameters, err);
    if (status == MS_OK)
        status = ms_members_read(&reading, &ms_calibration_table, root, c);
    if (status == MS_OK && (c->device = ms_arena_strdup(arena, c->device)) == NULL)
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for a calibration");
    return status == MS_OK ? check_parameters(parameters, c, err) : status;
}

/* ---- applying ---- */

static bool is_fitted(const ms_calibration *c, ms_parameter_kind kind)
{
    return c->parameters[kind].points > 0;
}

void ms_calibration_apply(const ms_calibration *c, ms_device *device)
{
    const ms_fitted *p = c->parameters;
    if (is_fitted(c, MS_PARAMETER_CONTEXT)) {
        device->context_low_bytes = (uint64_t)p[MS_PARAMETER_CONTEXT].low;
        device->context_expected_bytes = (uint64_t)p[MS_PARAMETER_CONTEXT].value;
        device->context_high_bytes = (uint64_t)p[MS_PARAMETER_CONTEXT].high;
    }
    if (is_fitted(c, MS_PARAMETER_WORKSPACE)) { /* as constant as the context */
        device->context_low_bytes += (uint64_t)p[MS_PARAMETER_WORKSPACE].low;
        device->context_expected_bytes += (uint64_t)p[MS_PARAMETER_WORKSPACE].value;
        device->context_high_bytes += (uint64_t)p[MS_PARAMETER_WORKSPACE].high;
    }
    if (is_fitted(c, MS_PARAMETER_MARGIN))
        device->margin_ppm = (uint64_t)llround(p[MS_PARAMETER_MARGIN].value * 1e6);
    for (int i = 0; i < MS_OP_CLASSES; i++)
        if (is_fitted(c, (ms_parameter_kind)(MS_PARAMETER_PRODUCT + i)))
            device->slowdown[i] = p[MS_PARAMETER_PRODUCT + i].value;
    if (is_fitted(c, MS_PARAMETER_HOST_LINK))
        device->host_link_bytes_per_s = p[MS_PARAMETER_HOST_LINK].value;
    if (is_fitted(c, MS_PARAMETER_PEER_LINK))
        device->peer_link_bytes_per_s = p[MS_PARAMETER_PEER_LINK].value;
}

/* ---- saying so ---- */

static const struct group {
    const char *title, *figures;
    ms_parameter_kind first, last;
} groups[] = {
    {"bytes on the device",
     "low_device_bytes expected_device_bytes high_device_bytes device_bytes headroom_bytes fits",
     MS_PARAMETER_CONTEXT, MS_PARAMETER_MARGIN},
    {"times", "step_time_ms step_ms exposed_copy_ms time_us", MS_PARAMETER_PRODUCT,
     MS_PARAMETER_OTHER},
    {"times of copies", "step_time_ms step_ms exposed_copy_ms copy_ms", MS_PARAMETER_HOST_LINK,
     MS_PARAMETER_PEER_LINK},
};

static const char *value_text(ms_arena *arena, const ms_fitted *fitted, ms_parameter_kind kind)
{
    if (kind == MS_PARAMETER_CONTEXT || kind == MS_PARAMETER_WORKSPACE)
        return ms_arena_printf(arena, "%" PRIu64 " MiB", (uint64_t)(fitted->value / 1048576 + 0.5));
    if (kind == MS_PARAMETER_MARGIN) {
        uint64_t parts = (uint64_t)llround(fitted->value * 1e4);
        return ms_arena_printf(arena, "%" PRIu64 ".%02" PRIu64 " %%", parts / 100, parts % 100);
    }
    bool is_rate = kind >= MS_PARAMETER_HOST_LINK;
    uint64_t parts = (uint64_t)llround(fitted->value * (is_rate ? 1e-7 : 100));
    return ms_arena_printf(arena, "%" PRIu64 ".%02" PRIu64 "%s", parts / 100, parts % 100,
                           is_rate ? " GB/s" : "");
}

bool ms_calibration_note_at(ms_arena *arena, const ms_calibration *c, size_t index,
                            ms_calibration_note *note)
{
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        const char *text = NULL;
        for (ms_parameter_kind i = groups[g].first; i <= groups[g].last; i++) {
            if (!is_fitted(c, i))
                continue;
            const char *value = value_text(arena, &c->parameters[i], i);
            const char *before = text ? text : "";
            text = value ? ms_arena_printf(arena, "%s%s%s %s", before, *before ? ", " : "",
                                           ms_parameter_rows[i].title, value)
                         : NULL;
            if (!text)
                return false;
        }
        if (!text || index-- > 0)
            continue;
        note->figures = groups[g].figures;
        note->text = ms_arena_printf(
            arena, "%s are calibrated with %" PRIu32 " measured step%s on %.64s: %s",
            groups[g].title, c->points, c->points == 1 ? "" : "s", c->device, text);
        return note->text != NULL;
    }
    return false;
}
