/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit/support.h"

#include <string.h>

#include "core/device/device.h"
#include "core/device/rates.h"

typedef struct table {
    ms_arena *arena;
    const ms_device *devices;
    uint32_t count;
} table;

static int load(void **state)
{
    static table t;
    ms_error err = {0};
    t.arena = ms_arena_create(0);
    *state = &t;
    if (ms_devices_load(t.arena, &t.devices, &t.count, &err) == MS_OK)
        return 0;
    print_error("%s:%u:%u: %s: %s\n", err.file, err.line, err.column, err.pointer, err.text);
    return 1;
}

static int unload(void **state)
{
    const table *t = *state;
    ms_arena_free(t->arena);
    return 0;
}

static const ms_device *find(const table *t, const char *name)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (strcmp(t->devices[i].name, name) == 0)
            return &t->devices[i];
    fail_msg("no device %s", name);
    return NULL;
}

/* Published figures: nvidia-smi's total in MiB, vendors' data sheets for rates. */
static void known_rows(void **state)
{
    const ms_device *a100 = find(*state, "a100-80gb"), *h100 = find(*state, "h100-80gb");
    assert_int_equal(a100->driver_bytes, 85899345920);
    assert_int_equal(a100->cuda_bytes, 85094039552); /* 79.25 GiB */
    assert_int_equal(a100->nominal_bytes, 80000000000);
    assert_int_equal(a100->compute_capability, 80);
    assert_int_equal(a100->multiprocessors, 108);
    assert_int_equal(a100->l2_bytes, 41943040);
    assert_int_equal(h100->l2_bytes, 52428800);
    assert_int_equal(find(*state, "h200")->l2_bytes, 0); /* nobody has looked */
    assert_true(a100->bf16_flops > 311.9e12 && a100->bf16_flops < 312.1e12);
    assert_true(a100->host_memory_bytes_per_s > 199e9 && a100->host_memory_bytes_per_s < 201e9);
    assert_true(a100->memory_bytes_per_s > 2038e9 && a100->memory_bytes_per_s < 2040e9);
    assert_int_equal(h100->driver_bytes, 85520809984);
    assert_int_equal(find(*state, "h200")->driver_bytes, 150754820096);
    assert_int_equal(find(*state, "b200")->driver_bytes, 192265846784);
    assert_int_equal(find(*state, "t4")->driver_bytes, 16106127360);
    assert_int_equal(find(*state, "t4")->compute_capability, 75);
    assert_true(find(*state, "cpu")->is_cpu);
    assert_int_equal(ms_device_usable_bytes(find(*state, "cpu")), 0);
    assert_int_equal(find(*state, "mi300x")->compute_capability, 0);
}

static void every_row_is_sane(void **state)
{
    const table *t = *state;
    assert_true(t->count >= 20);
    for (uint32_t i = 0; i < t->count; i++) {
        const ms_device *d = &t->devices[i];
        assert_true(d->name[0] && d->title[0] && d->source[0]);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(d->name, t->devices[k].name);
        if (d->is_cpu)
            continue;
        assert_true(d->driver_bytes == 0 || d->cuda_bytes < d->driver_bytes);
        assert_true(ms_device_usable_bytes(d) > 0);
        assert_true(d->context_low_bytes <= d->context_expected_bytes);
        assert_true(d->context_expected_bytes <= d->context_high_bytes);
        assert_true(d->fp8_flops <= 0 || d->fp8_flops >= d->bf16_flops);
    }
}

/* A bridge of NVLink joins two cards alone, so several of them speak over PCIe. */
static void cards_have_pcie(void **state)
{
    static const char *const cards[] = {"rtx-2080-ti", "a30",           "a40",
                                        "rtx-3090",    "rtx-a6000",     "a100-80gb-pcie",
                                        "h100-nvl",    "h100-80gb-pcie"};
    for (size_t i = 0; i < sizeof cards / sizeof cards[0]; i++) {
        const ms_device *d = find(*state, cards[i]);
        assert_true(d->peer_link_bytes_per_s > 0);
        assert_true(d->peer_link_bytes_per_s <= 2 * d->host_link_bytes_per_s);
    }
    assert_true(find(*state, "a100-80gb")->peer_link_bytes_per_s > 599e9);
}

/* What nvidia-smi shows is known of all of NVIDIA's. */
static void drivers_figures_are_known(void **state)
{
    const table *t = *state;
    for (uint32_t i = 0; i < t->count; i++)
        assert_true(t->devices[i].compute_capability == 0 || t->devices[i].driver_bytes > 0);
    assert_int_equal(find(t, "h100-nvl")->driver_bytes, UINT64_C(95830) << 20);
}

static void unknown_capacity_is_guarded(void **state)
{
    (void)state;
    ms_device d = {.driver_bytes = UINT64_C(10) << 30, .nominal_bytes = 10000000000};
    assert_int_equal(ms_device_usable_bytes(&d), (UINT64_C(10) << 30) - (UINT64_C(730) << 20));
    d.driver_bytes = 0;
    assert_int_equal(ms_device_usable_bytes(&d), 10000000000);
}

/* A known rate stays, one that is missing is the assumed one of the device's kind. */
static void missing_rates_are_assumed(void **state)
{
    static const struct {
        const char *name;
        bool has_rates;
        double memory, bf16, link; /* G, T, G a second */
    } cases[] = {{"a100-80gb", true, 2039, 312, 32},
                 {"t4", true, 320, 0, 16},
                 {"h100-nvl", false, 2000, 835, 64},
                 {"b300", false, 2000, 400, 64},
                 {"cpu", false, 200, 2, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const ms_device *device = find(*state, cases[i].name);
        const ms_device filled = ms_device_assume_rates(device);
        assert_int_equal(ms_device_has_rates(device), cases[i].has_rates);
        assert_int_equal(filled.has_assumed_rates, !cases[i].has_rates);
        assert_float_equal((float)(filled.memory_bytes_per_s / 1e9), (float)cases[i].memory, 0.1f);
        assert_float_equal((float)(filled.bf16_flops / 1e12), (float)cases[i].bf16, 0.1f);
        assert_float_equal((float)(filled.host_link_bytes_per_s / 1e9), (float)cases[i].link, 0.1f);
    }
}

/* A device's own rates, those of its kind, those of any device. */
static void rates_are_the_nearest(void **state)
{
    static const struct {
        const char *name;
        ms_rate_figure figure;
        bool is_own;
        const char *measured;
    } cases[] = {
        {"a100-80gb-pcie", MS_RATE_PRODUCT_SHARE, true, "183 products on an A100 PCIe"},
        {"b200", MS_RATE_PRODUCT_SHARE, true, "514 products on a B200"},
        {"gb200", MS_RATE_PRODUCT_SHARE, false, "514 products on a B200"},
        {"mi300x", MS_RATE_ATTENTION_FORWARD_SHARE, false, "47 calls on an A100"},
        {"v100-16gb", MS_RATE_MEMORY_SHARE, false, "17 kernels on an A100 SXM"},
        {"a10", MS_RATE_HOST_LINK_SHARE, true, "pinned copies of an A10, the slower way"},
        {"gh200-96gb", MS_RATE_PAGEABLE_GB_PER_S, false,
         "pageable copies of a GTX 1660 Ti, the slower way"},
    };
    const table *t = *state;
    const ms_rates *rates = NULL;
    ms_error err = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(ms_rates_find(t->arena, find(t, cases[i].name), &rates, &err), MS_OK);
        assert_int_equal(rates->figures[cases[i].figure].is_own, cases[i].is_own);
        assert_string_equal(rates->figures[cases[i].figure].measured, cases[i].measured);
        assert_true(rates->figures[cases[i].figure].source[0]);
    }
    assert_int_equal(ms_rates_find(t->arena, find(t, "cpu"), &rates, &err), MS_OK);
    assert_null(rates);
}

static void copies_get_the_rate_they_reach(void **state)
{
    const table *t = *state;
    const ms_rates *rates = NULL;
    ms_error err = {0};
    ms_device device = *find(t, "a100-80gb-pcie");
    assert_int_equal(ms_rates_find(t->arena, &device, &rates, &err), MS_OK);
    ms_rates_apply(rates, &device);
    assert_float_equal((float)(device.host_link_bytes_per_s / 1e9), 17.3f, 0.05f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_rows),
        cmocka_unit_test(every_row_is_sane),
        cmocka_unit_test(cards_have_pcie),
        cmocka_unit_test(drivers_figures_are_known),
        cmocka_unit_test(unknown_capacity_is_guarded),
        cmocka_unit_test(missing_rates_are_assumed),
        cmocka_unit_test(rates_are_the_nearest),
        cmocka_unit_test(copies_get_the_rate_they_reach),
    };
    return cmocka_run_group_tests_name("devices", tests, load, unload);
}
