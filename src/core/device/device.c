/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/device/device.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json/embedded.h"
#include "base/json/number.h"
#include "base/json/value.h"

/* ---- title ---- */

/* The first word of a title with a digit: "A100" of "NVIDIA A100 SXM 80 GB". */
static const char *model_word(const char *title, size_t *length)
{
    for (const char *word = title; *word; word += strspn(word, " ")) {
        *length = strcspn(word, " ");
        if (strcspn(word, "0123456789") < *length)
            return word;
        word += *length;
    }
    return NULL;
}

static bool has_word(const char *text, const char *word, size_t length)
{
    for (const char *at = text; *at; at++)
        if (strncmp(at, word, length) == 0 && (at == text || !isalnum((unsigned char)at[-1])) &&
            !isalnum((unsigned char)at[length]))
            return true;
    return false;
}

bool ms_device_is_titled(const ms_device *device, const char *title)
{
    size_t length = 0;
    const char *word = model_word(device->title, &length);
    return word && has_word(title, word, length);
}

/* ---- device ---- */

/* nvidia-smi's total less CUDA's: 440 to 730 MiB on the devices where both are known. */
#define LARGEST_GAP_BYTES (UINT64_C(730) << 20)

typedef enum cell_kind {
    CELL_TEXT,
    CELL_KIND,       /* "cuda", "rocm" or "cpu" */
    CELL_CAPABILITY, /* "8.0" */
    CELL_COUNT,      /* uint32_t */
    CELL_BYTES,      /* uint64_t, times scale */
    CELL_RATE,       /* double, times scale */
    CELL_LIST        /* of names, joined */
} cell_kind;

/* value * times / over, rounded down, for factors of a few millions. */
static uint64_t scale(uint64_t value, uint64_t times, uint64_t over)
{
    return value / over * times + value % over * times / over;
}

typedef struct cell_row {
    const char *path;
    cell_kind kind;
    size_t offset;
    double scale;
} cell_row;

#define CELL(path, kind, member, scale)                                                            \
    {                                                                                              \
        path, kind, offsetof(ms_device, member), scale                                             \
    }
#define MIB (1024.0 * 1024.0)

static const cell_row cells[] = {
    CELL("name", CELL_TEXT, name, 0),
    CELL("title", CELL_TEXT, title, 0),
    CELL("kind", CELL_KIND, is_cpu, 0),
    CELL("compute_capability", CELL_CAPABILITY, compute_capability, 0),
    CELL("multiprocessors", CELL_COUNT, multiprocessors, 0),
    CELL("l2_kib", CELL_BYTES, l2_bytes, 1024),
    CELL("nominal_gb", CELL_BYTES, nominal_bytes, 1e9),
    CELL("driver_mib", CELL_BYTES, driver_bytes, MIB),
    CELL("cuda_mib", CELL_BYTES, cuda_bytes, MIB),
    CELL("context_mib/low", CELL_BYTES, context_low_bytes, MIB),
    CELL("context_mib/expected", CELL_BYTES, context_expected_bytes, MIB),
    CELL("context_mib/high", CELL_BYTES, context_high_bytes, MIB),
    CELL("memory_gb_per_s", CELL_RATE, memory_bytes_per_s, 1e9),
    CELL("host_link_gb_per_s", CELL_RATE, host_link_bytes_per_s, 1e9),
    CELL("peer_link_gb_per_s", CELL_RATE, peer_link_bytes_per_s, 1e9),
    CELL("bf16_tflops", CELL_RATE, bf16_flops, 1e12),
    CELL("fp16_tflops", CELL_RATE, fp16_flops, 1e12),
    CELL("fp8_tflops", CELL_RATE, fp8_flops, 1e12),
    CELL("int8_tops", CELL_RATE, int8_ops, 1e12),
    CELL("tf32_tflops", CELL_RATE, tf32_flops, 1e12),
    CELL("fp32_tflops", CELL_RATE, fp32_flops, 1e12),
    CELL("source", CELL_TEXT, source, 0),
    CELL("unchecked", CELL_LIST, unchecked, 0),
};

enum { CELL_COUNT_OF_ROWS = sizeof cells / sizeof cells[0] };

_Static_assert(CELL_COUNT_OF_ROWS <= 32, "device_reader.seen has 32 bits");

/* A getter reads one cell into the member at `member`. */
typedef ms_status (*cell_getter)(ms_arena *arena, ms_json_value value, const cell_row *row,
                                 void *member, ms_error *err);

static ms_status keep_text(ms_arena *arena, const char *text, const char **kept, ms_error *err)
{
    *kept = ms_arena_strdup(arena, text);
    return *kept ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for the device table");
}

static ms_status get_text(ms_arena *arena, ms_json_value value, const cell_row *row, void *member,
                          ms_error *err)
{
    (void)row;
    const char *text = NULL;
    ms_status status = ms_json_get_string(value, &text, err);
    return status == MS_OK ? keep_text(arena, text, member, err) : status;
}

static ms_status get_kind(ms_arena *arena, ms_json_value value, const cell_row *row, void *member,
                          ms_error *err)
{
    (void)arena, (void)row;
    const char *text = NULL;
    ms_status status = ms_json_get_string(value, &text, err);
    if (status == MS_OK)
        *(bool *)member = strcmp(text, "cpu") == 0;
    return status;
}

static ms_status get_capability(ms_arena *arena, ms_json_value value, const cell_row *row,
                                void *member, ms_error *err)
{
    (void)arena, (void)row;
    const char *text = NULL;
    ms_status status = ms_json_get_string(value, &text, err);
    if (status != MS_OK)
        return status;
    const char *point = strchr(text, '.');
    uint64_t major, minor;
    if (!point || ms_number_count(text, (size_t)(point - text), &major) != MS_COUNT_OK ||
        ms_number_count(point + 1, strlen(point + 1), &minor) != MS_COUNT_OK || major > 99 ||
        minor > 9)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected a compute capability such as \"8.0\"");
    *(uint32_t *)member = (uint32_t)(10 * major + minor);
    return MS_OK;
}

static ms_status get_count(ms_arena *arena, ms_json_value value, const cell_row *row, void *member,
                           ms_error *err)
{
    (void)arena, (void)row;
    uint64_t count = 0;
    ms_status status = ms_json_get_count(value, 1, 1 << 20, &count, err);
    *(uint32_t *)member = (uint32_t)count;
    return status;
}

static ms_status get_bytes(ms_arena *arena, ms_json_value value, const cell_row *row, void *member,
                           ms_error *err)
{
    (void)arena;
    uint64_t count = 0;
    ms_status status = ms_json_get_count(value, 0, 1 << 24, &count, err);
    *(uint64_t *)member = count * (uint64_t)row->scale;
    return status;
}

static ms_status get_rate(ms_arena *arena, ms_json_value value, const cell_row *row, void *member,
                          ms_error *err)
{
    (void)arena;
    double rate = 0;
    ms_status status = ms_json_get_number(value, 0, 1e9, &rate, err);
    *(double *)member = rate * row->scale;
    return status;
}

static ms_status get_list(ms_arena *arena, ms_json_value value, const cell_row *row, void *member,
                          ms_error *err)
{
    (void)row;
    char joined[256] = "";
    size_t used = 0;
    ms_json_value v;
    ms_status status = ms_json_expect(value, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(value, &v); more && status == MS_OK;
         more = ms_json_next(&v)) {
        const char *text = NULL;
        status = ms_json_get_string(v, &text, err);
        if (status == MS_OK && used < sizeof joined)
            used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s",
                                     used > 0 ? ", " : "", text);
    }
    return status == MS_OK ? keep_text(arena, joined, member, err) : status;
}

static const cell_getter getters[] = {
    [CELL_TEXT] = get_text,   [CELL_KIND] = get_kind,   [CELL_CAPABILITY] = get_capability,
    [CELL_COUNT] = get_count, [CELL_BYTES] = get_bytes, [CELL_RATE] = get_rate,
    [CELL_LIST] = get_list,
};

/* The row of a cell; the search starts where the last one ended, as the keys stand in the same
 * order in every device. */
static size_t find_cell(const char *path, size_t start)
{
    for (size_t i = 0; i < CELL_COUNT_OF_ROWS; i++) {
        size_t row = (start + i) % CELL_COUNT_OF_ROWS;
        if (strcmp(cells[row].path, path) == 0)
            return row;
    }
    return CELL_COUNT_OF_ROWS;
}

/* One device, or an object in it whose cells are called "prefix/key". */
typedef struct device_reader {
    ms_arena *arena;
    ms_device *device;
    size_t next; /* where the next cell is expected */
    uint32_t seen;
} device_reader;

static ms_status read_cells(device_reader *reader, ms_json_value object, const char *prefix,
                            ms_error *err)
{
    ms_json_value v;
    ms_status status = MS_OK;
    for (bool more = ms_json_first(object, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        char path[64];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "/" : "", ms_json_key(v));
        if (ms_json_kind_of(v) == MS_JSON_OBJECT && !*prefix) {
            status = read_cells(reader, v, path, err); /* once: the prefix is then set */
            continue;
        }
        size_t row = find_cell(path, reader->next);
        if (row == CELL_COUNT_OF_ROWS)
            return ms_json_fail(err, v, MS_JSON_AT_KEY, MS_ERR_CONFIG, "unknown key '%s'", path);
        reader->next = row + 1;
        reader->seen |= 1u << row;
        if (ms_json_kind_of(v) != MS_JSON_NULL)
            status = getters[cells[row].kind](reader->arena, v, &cells[row],
                                              (char *)reader->device + cells[row].offset, err);
    }
    return status;
}

static ms_status read_device(ms_arena *arena, ms_json_value value, ms_device *device, ms_error *err)
{
    device_reader reader = {.arena = arena, .device = device};
    ms_status status = ms_json_expect(value, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = read_cells(&reader, value, "", err);
    for (size_t i = 0; i < CELL_COUNT_OF_ROWS && status == MS_OK; i++)
        if (!(reader.seen >> i & 1))
            status = ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                  "\"%s\" is missing; write null if it is unknown", cells[i].path);
    return status;
}

/* "/assumed/cuda" and its like. */
static ms_status read_assumed(ms_json_value root, const char *kind, ms_assumed_rates *rates,
                              ms_error *err)
{
    const struct {
        const char *key;
        double *rate, scale;
    } rows[] = {{"memory_gb_per_s", &rates->memory_bytes_per_s, 1e9},
                {"tflops", &rates->flops, 1e12},
                {"host_link_gb_per_s", &rates->host_link_bytes_per_s, 1e9}};
    ms_json_value assumed, of_kind, v;
    ms_status status = ms_json_get_member(root, "assumed", &assumed, err);
    if (status == MS_OK)
        status = ms_json_get_member(assumed, kind, &of_kind, err);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == MS_OK; i++) {
        status = ms_json_get_member(of_kind, rows[i].key, &v, err);
        if (status == MS_OK)
            status = ms_json_get_number(v, 0, 1e9, rows[i].rate, err);
        *rows[i].rate *= rows[i].scale;
    }
    return status;
}

static ms_status read_devices(ms_arena *arena, ms_json_value root, const ms_device **devices,
                              uint32_t *count, ms_error *err)
{
    ms_json_value list, v;
    double host_rate = 0;
    ms_assumed_rates cuda = {0}, cpu = {0};
    ms_status status = ms_json_find_pointer(root, "/host/memory_gb_per_s", &v)
                           ? ms_json_get_number(v, 0, 1e9, &host_rate, err)
                           : MS_OK;
    if (status == MS_OK)
        status = read_assumed(root, "cuda", &cuda, err);
    if (status == MS_OK)
        status = read_assumed(root, "cpu", &cpu, err);
    if (status == MS_OK)
        status = ms_json_get_list(root, "devices", &list, err);
    if (status != MS_OK)
        return status;
    uint32_t found = ms_json_length(list);
    ms_device *rows = ms_arena_array(arena, ms_device, found);
    if (!rows)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %u devices", found);
    *devices = rows;
    *count = found;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        rows->host_memory_bytes_per_s = host_rate * 1e9;
        status = read_device(arena, v, rows, err);
        rows->assumed = rows->is_cpu ? cpu : cuda;
        rows++;
    }
    return status;
}

ms_status ms_devices_load(ms_arena *arena, const ms_device **devices, uint32_t *count,
                          ms_error *err)
{
    const ms_embedded *file = ms_embedded_find("devices");
    if (!file)
        return ms_fail(err, MS_ERR_INTERNAL, "the device table is not built in");
    ms_json_source source = {"configs/devices.json", file->text, file->length};
    ms_json *document = NULL;
    ms_status status = ms_json_parse(&source, &document, err);
    if (status == MS_OK)
        status = read_devices(arena, ms_json_root(document), devices, count, err);
    ms_json_free(document);
    return status;
}

uint64_t ms_device_usable_bytes(const ms_device *device)
{
    if (device->cuda_bytes > 0)
        return device->cuda_bytes;
    if (device->driver_bytes > LARGEST_GAP_BYTES)
        return device->driver_bytes - LARGEST_GAP_BYTES;
    return device->nominal_bytes;
}

int ms_device_by_size(const void *left, const void *right)
{
    const ms_device *a = *(const ms_device *const *)left, *b = *(const ms_device *const *)right;
    uint64_t of_a = ms_device_usable_bytes(a), of_b = ms_device_usable_bytes(b);
    return of_a < of_b ? -1 : of_a > of_b ? 1 : a < b ? -1 : a > b;
}

bool ms_device_before_ampere(const ms_device *device)
{
    enum { AMPERE = 80 };
    return device->compute_capability > 0 && device->compute_capability < AMPERE;
}

bool ms_device_is_hopper(const ms_device *device)
{
    enum { HOPPER = 90 };
    return device->compute_capability == HOPPER;
}

bool ms_device_is_blackwell(const ms_device *device)
{
    enum { FIRST = 100, LAST = 109 };
    return device->compute_capability >= FIRST && device->compute_capability <= LAST;
}

uint64_t ms_device_threads_per_multiprocessor(const ms_device *device)
{
    uint32_t capability = device->compute_capability;
    if (capability == 75)
        return 1024;
    return capability == 86 || capability == 89 || capability >= 120 ? 1536 : 2048;
}

bool ms_device_has_rates(const ms_device *device)
{
    return device->memory_bytes_per_s > 0 && (device->bf16_flops > 0 || device->fp32_flops > 0) &&
           (device->is_cpu || device->host_link_bytes_per_s > 0);
}

ms_device ms_device_assume_rates(const ms_device *device)
{
    ms_device filled = *device;
    if (ms_device_has_rates(device))
        return filled;
    const struct {
        double *rate, assumed;
    } rows[] = {{&filled.memory_bytes_per_s, device->assumed.memory_bytes_per_s},
                {&filled.bf16_flops, device->assumed.flops},
                {&filled.fp16_flops, device->assumed.flops},
                {&filled.fp32_flops, device->assumed.flops},
                {&filled.host_link_bytes_per_s, device->assumed.host_link_bytes_per_s}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!(*rows[i].rate > 0))
            *rows[i].rate = rows[i].assumed;
    filled.has_assumed_rates = true;
    return filled;
}

/* ---- memory in use on top of reserved memory ---- */

enum { MILLION = 1000000 };

uint64_t ms_device_used_bytes(const ms_device *device, uint64_t reserved_bytes,
                              uint64_t context_bytes)
{
    return reserved_bytes + scale(reserved_bytes, device->margin_ppm, MILLION) + context_bytes;
}

uint64_t ms_device_reservable_bytes(const ms_device *device, uint64_t budget_bytes)
{
    uint64_t context_bytes = device->context_expected_bytes;
    if (budget_bytes <= context_bytes)
        return 0;
    return scale(budget_bytes - context_bytes, MILLION, MILLION + device->margin_ppm);
}

/* ---- classes of operators ---- */

const char *const ms_op_class_names[] = {
    [MS_OP_PRODUCT] = "product", [MS_OP_ATTENTION] = "attention", [MS_OP_OTHER] = "other"};

ms_op_class ms_op_class_of(const char *name, bool has_flops)
{
    if (strstr(name, "ttention")) /* flash_attention, ScaledDotProductFlashAttentionBackward0 */
        return MS_OP_ATTENTION;
    return has_flops ? MS_OP_PRODUCT : MS_OP_OTHER;
}
