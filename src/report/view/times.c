/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/times.h"

#include <string.h>

#include "device/rates.h"
#include "text/number.h"

static bool has_times(const ms_device *device)
{
    return ms_device_has_rates(device) && !device->has_assumed_rates;
}

/* What sets the time of a class; the first that there is. */
static const char *basis_of(const ms_device *device, ms_op_class class)
{
    if (device->mfu > 0 && class != MS_OP_OTHER)
        return "mfu";
    if (device->slowdown[class] > 0)
        return "calibration";
    return device->rates ? "table" : "roofline";
}

/* "0.78", "0.81*", "2.00 x roofline": how fast a class runs. */
static const char *class_text(ms_arena *arena, const ms_device *device, ms_op_class class,
                              ms_rate_figure figure)
{
    char text[MS_FIXED_TEXT];
    if (device->mfu > 0 && class != MS_OP_OTHER)
        return ms_arena_printf(arena, "%s (--mfu)", ms_fixed(device->mfu, 2, text));
    if (device->slowdown[class] > 0)
        return ms_arena_printf(arena, "%s x roofline", ms_fixed(device->slowdown[class], 2, text));
    if (!device->rates)
        return "1.00";
    const ms_rate *rate = &device->rates->figures[figure];
    return ms_arena_printf(arena, "%s%s", ms_fixed(rate->value, 2, text), rate->is_own ? "" : "*");
}

const char *ms_times_text(ms_arena *arena, const ms_run_config *run)
{
    const ms_device *device = run->device;
    char link[MS_FIXED_TEXT];
    if (!has_times(device))
        return "";
    const char *products = class_text(arena, device, MS_OP_PRODUCT, MS_RATE_PRODUCT_SHARE);
    const char *attention =
        class_text(arena, device, MS_OP_ATTENTION, MS_RATE_ATTENTION_FORWARD_SHARE);
    const char *memory = class_text(arena, device, MS_OP_OTHER, MS_RATE_MEMORY_SHARE);
    if (!products || !attention || !memory)
        return NULL;
    bool has_star = strchr(products, '*') || strchr(attention, '*') || strchr(memory, '*');
    return ms_arena_printf(
        arena, "times: products %s of peak, attention %s, memory %s, link %s GB/s%s", products,
        attention, memory, ms_fixed(device->host_link_bytes_per_s / 1e9, 1, link),
        has_star ? " (* another device's)" : "");
}

static void write_rates(ms_json_writer *w, const ms_rates *rates)
{
    ms_json_array(w, "rates");
    for (int i = 0; rates && i < MS_RATE_COUNT; i++) {
        const ms_rate *rate = &rates->figures[i];
        ms_json_object(w, NULL);
        ms_json_string(w, "name", ms_rate_names[i]);
        ms_json_double(w, "value", rate->value, 4);
        ms_json_bool(w, "is_own", rate->is_own);
        ms_json_string(w, "measured", rate->measured);
        ms_json_string(w, "source", rate->source);
        ms_json_close(w);
    }
    ms_json_close(w);
}

void ms_times_json(ms_json_writer *w, ms_arena *arena, const ms_run_config *run)
{
    const ms_device *device = run->device;
    const char *text = ms_times_text(arena, run);
    ms_json_string(w, "text", text ? text : "");
    ms_json_object_inline(w, "basis");
    for (int i = 0; i < MS_OP_CLASSES; i++)
        ms_json_string(w, ms_op_class_names[i], basis_of(device, (ms_op_class)i));
    ms_json_close(w);
    ms_json_double(w, "host_link_gb_per_s", device->host_link_bytes_per_s / 1e9, 3);
    write_rates(w, device->rates);
}
