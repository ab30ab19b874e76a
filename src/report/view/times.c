/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/times.h"

#include <string.h>

#include "base/locale.h"
#include "core/device/rates.h"
#include "base/text/number.h"

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

/* What the figure of a class is: a share of the peak, or a multiple of the roofline's time. */
typedef enum figure_unit { UNIT_NONE, UNIT_PEAK, UNIT_ROOFLINE_TIME } figure_unit;

/* A figure measured on another device has a star. */
static const char *star_of(const ms_device *device, ms_rate_figure figure)
{
    return device->rates && !device->rates->figures[figure].is_own ? "*" : "";
}

/* How fast a class runs: "0.78 of peak", "0.81*", "at most 0.45 of peak (--mfu)", "1.60 x roofline
 * time". What is in the unit of the figure before does not repeat it. */
static const char *class_text(ms_arena *arena, const ms_device *device, ms_op_class class,
                              ms_rate_figure figure, figure_unit *before)
{
    char text[MS_FIXED_TEXT];
    const bool is_mfu = device->mfu > 0 && class != MS_OP_OTHER;
    const bool is_multiple = !is_mfu && device->slowdown[class] > 0;
    const figure_unit unit = is_multiple ? UNIT_ROOFLINE_TIME : UNIT_PEAK;
    const bool is_named = unit == *before;
    *before = unit;
    if (is_multiple)
        return ms_arena_printf(arena, "%s x%s", ms_fixed(device->slowdown[class], 2, text),
                               is_named ? "" : " roofline time");
    const char *of_peak = is_named ? "" : " of peak";
    if (is_mfu) {
        ms_text_print(text, sizeof text, "%.15g", device->mfu);
        return ms_arena_printf(arena, "at most %s%s (--mfu)", text, of_peak);
    }
    double share = device->rates ? device->rates->figures[figure].value : 1;
    return ms_arena_printf(arena, "%s%s%s", ms_fixed(share, 2, text), star_of(device, figure),
                           of_peak);
}

/* The rate of copies to and from the host; a calibrated one is the device's own. */
static const char *link_text(ms_arena *arena, const ms_run_config *run)
{
    char text[MS_FIXED_TEXT];
    const ms_calibration *c = run->calibration;
    bool is_calibrated = c && c->parameters[MS_PARAMETER_HOST_LINK].points > 0;
    return ms_arena_printf(arena, "%s GB/s%s",
                           ms_fixed(run->device->host_link_bytes_per_s / 1e9, 1, text),
                           is_calibrated ? "" : star_of(run->device, MS_RATE_HOST_LINK_SHARE));
}

const char *ms_times_text(ms_arena *arena, const ms_run_config *run)
{
    const ms_device *device = run->device;
    figure_unit unit = UNIT_NONE;
    if (!has_times(device))
        return "";
    const char *products = class_text(arena, device, MS_OP_PRODUCT, MS_RATE_PRODUCT_SHARE, &unit);
    const char *attention =
        class_text(arena, device, MS_OP_ATTENTION, MS_RATE_ATTENTION_FORWARD_SHARE, &unit);
    const char *memory = class_text(arena, device, MS_OP_OTHER, MS_RATE_MEMORY_SHARE, &unit);
    const char *link = link_text(arena, run);
    if (!products || !attention || !memory || !link)
        return NULL;
    const char *text =
        ms_arena_printf(arena, "times: products %s, attention %s, memory %s, link %s", products,
                        attention, memory, link);
    return text && strchr(text, '*') ? ms_arena_printf(arena, "%s (* another device's)", text)
                                     : text;
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
