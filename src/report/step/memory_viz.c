/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The step as a memory snapshot of PyTorch, for its viewer (docs.pytorch.org/memory_viz) and
 * torch.cuda._memory_viz: allocations and frees with the allocator's addresses, and its segments at
 * the end of the step.
 */
#include <stdlib.h>

#include "report/kit/pickle.h"
#include "report/kit/writer_list.h"
#include "report/view/view.h"

typedef enum key {
    KEY_ACTION,
    KEY_ADDR,
    KEY_SIZE,
    KEY_STREAM,
    KEY_FRAMES,
    KEY_TIME,
    KEY_FILENAME,
    KEY_LINE,
    KEY_NAME,
    KEY_DEVICE,
    KEY_ADDRESS,
    KEY_TOTAL_SIZE,
    KEY_SEGMENT_TYPE,
    KEY_ALLOCATED_SIZE,
    KEY_ACTIVE_SIZE,
    KEY_BLOCKS,
    KEY_REQUESTED_SIZE,
    KEY_STATE,
    KEY_ALLOC,
    KEY_FREE_REQUESTED,
    KEY_FREE_COMPLETED,
    KEY_SEGMENT_ALLOC,
    KEY_HELD,
    KEY_INACTIVE,
    KEY_SMALL,
    KEY_LARGE,
    KEY_WAITING,
    KEY_COUNT
} key;

static const char *const key_names[KEY_COUNT] = {
    [KEY_ACTION] = "action",
    [KEY_ADDR] = "addr",
    [KEY_SIZE] = "size",
    [KEY_STREAM] = "stream",
    [KEY_FRAMES] = "frames",
    [KEY_TIME] = "time_us",
    [KEY_FILENAME] = "filename",
    [KEY_LINE] = "line",
    [KEY_NAME] = "name",
    [KEY_DEVICE] = "device",
    [KEY_ADDRESS] = "address",
    [KEY_TOTAL_SIZE] = "total_size",
    [KEY_SEGMENT_TYPE] = "segment_type",
    [KEY_ALLOCATED_SIZE] = "allocated_size",
    [KEY_ACTIVE_SIZE] = "active_size",
    [KEY_BLOCKS] = "blocks",
    [KEY_REQUESTED_SIZE] = "requested_size",
    [KEY_STATE] = "state",
    [KEY_ALLOC] = "alloc",
    [KEY_FREE_REQUESTED] = "free_requested",
    [KEY_FREE_COMPLETED] = "free_completed",
    [KEY_SEGMENT_ALLOC] = "segment_alloc",
    [KEY_HELD] = "active_allocated",
    [KEY_INACTIVE] = "inactive",
    [KEY_SMALL] = "small",
    [KEY_LARGE] = "large",
    [KEY_WAITING] = "active_pending_free",
};

typedef struct resident {
    uint64_t address;
    uint32_t storage;
} resident;

typedef struct snapshot {
    ms_pickle pickle;
    const ms_view *view;
    const ms_trace *trace;
    const ms_usage *usage;
    const char *model;
    uint32_t keys[KEY_COUNT]; /* numbers in the memo, plus 1; 0: not written yet */
    uint32_t *frames;         /* per storage, the same */
    bool *is_there;           /* per storage: alive */
    resident *residents;      /* what is alive when the step is over, by address */
    uint32_t resident_count;
    uint64_t entry_count;
} snapshot;

/* A word that comes often is written once. */
static void put_key(snapshot *s, key name)
{
    if (s->keys[name]) {
        ms_pickle_again(&s->pickle, s->keys[name] - 1);
        return;
    }
    ms_pickle_text(&s->pickle, key_names[name]);
    s->keys[name] = ms_pickle_remember(&s->pickle) + 1;
}

static void put_number(snapshot *s, key name, uint64_t value)
{
    put_key(s, name);
    ms_pickle_uint(&s->pickle, value);
}

static void put_word(snapshot *s, key name, key value)
{
    put_key(s, name);
    put_key(s, value);
}

/* ---- frames: what the viewer shows as a stack ---- */

static void put_frame(snapshot *s, uint32_t layer, const char *name)
{
    ms_pickle_dict(&s->pickle);
    put_key(s, KEY_FILENAME);
    ms_pickle_text(&s->pickle, s->model);
    put_number(s, KEY_LINE, layer == MS_NONE ? 0 : layer);
    put_key(s, KEY_NAME);
    ms_pickle_text(&s->pickle, name);
    ms_pickle_end_dict(&s->pickle);
}

/* Innermost first: the tensor with its category, the operator that makes it, the module. */
static void put_new_frames(snapshot *s, uint32_t id)
{
    enum { TEXT = 256 };
    const ms_storage *storage = &s->trace->storages.items[id];
    uint32_t layer = ms_trace_scope_layer(s->trace, storage->scope, MS_NONE);
    uint64_t index = 0;
    char text[TEXT], path[TEXT];
    const char *label = ms_storage_label(s->trace, storage);
    snprintf(text, sizeof text, "%s%s%s", ms_category_name((ms_category)storage->category),
             *label ? ": " : "", label);
    ms_pickle_list(&s->pickle);
    ms_pickle_next(&s->pickle, index++);
    put_frame(s, layer, text);
    if (storage->op != MS_NONE) {
        ms_pickle_next(&s->pickle, index++);
        put_frame(s, layer, s->trace->ops.items[storage->op].name);
    }
    if (storage->scope != MS_NONE) {
        ms_trace_scope_path(s->trace, storage->scope, path, sizeof path);
        ms_pickle_next(&s->pickle, index++);
        put_frame(s, layer, path);
    }
    ms_pickle_end_list(&s->pickle);
}

static void put_frames(snapshot *s, uint32_t storage)
{
    put_key(s, KEY_FRAMES);
    if (storage == MS_NONE) {
        ms_pickle_list(&s->pickle);
        ms_pickle_end_list(&s->pickle);
    } else if (s->frames[storage]) {
        ms_pickle_again(&s->pickle, s->frames[storage] - 1);
    } else {
        put_new_frames(s, storage);
        s->frames[storage] = ms_pickle_remember(&s->pickle) + 1;
    }
}

/* ---- the trace ---- */

static void put_entry(snapshot *s, key action, uint64_t address, uint64_t bytes, uint32_t storage,
                      uint32_t event)
{
    ms_pickle_next(&s->pickle, s->entry_count++);
    ms_pickle_dict(&s->pickle);
    put_word(s, KEY_ACTION, action);
    put_number(s, KEY_ADDR, address);
    put_number(s, KEY_SIZE, bytes);
    put_number(s, KEY_STREAM, 0);
    put_number(s, KEY_TIME, (uint64_t)(1e3 * s->view->ledger->schedule.event_ms[event]));
    put_frames(s, storage);
    ms_pickle_end_dict(&s->pickle);
}

/* Where an allocation made the allocator reserve more, the block begins the new segment. */
static void put_allocation(snapshot *s, uint32_t storage, uint32_t event)
{
    const uint64_t *reserved = s->usage->reserved_bytes;
    uint64_t address = s->usage->addresses[storage];
    if (event && reserved[event] > reserved[event - 1])
        put_entry(s, KEY_SEGMENT_ALLOC, address, reserved[event] - reserved[event - 1], MS_NONE,
                  event);
    put_entry(s, KEY_ALLOC, address, s->usage->block_bytes[storage], storage, event);
}

static void put_free(snapshot *s, uint32_t storage, uint32_t event)
{
    uint64_t address = s->usage->addresses[storage], bytes = s->usage->block_bytes[storage];
    put_entry(s, KEY_FREE_REQUESTED, address, bytes, storage, event);
    put_entry(s, KEY_FREE_COMPLETED, address, bytes, storage, event);
}

/* Tensors without bytes have no block. */
static void put_trace(snapshot *s)
{
    ms_pickle_list(&s->pickle);
    for (uint32_t e = s->usage->steady_first_event; e < s->usage->steady_end_event; e++) {
        const ms_event *event = &s->trace->events.items[e];
        bool is_free = event->kind == MS_EVENT_FREE;
        if ((!is_free && event->kind != MS_EVENT_ALLOC) || s->usage->block_bytes[event->id] == 0)
            continue;
        if (is_free)
            put_free(s, event->id, e - s->usage->steady_first_event);
        else
            put_allocation(s, event->id, e - s->usage->steady_first_event);
    }
    ms_pickle_end_list(&s->pickle);
}

/* ---- the segments ---- */

static int by_address(const void *a, const void *b)
{
    const resident *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void find_residents(snapshot *s)
{
    for (uint32_t e = 0; e < s->usage->steady_end_event; e++) {
        const ms_event *event = &s->trace->events.items[e];
        if (event->kind == MS_EVENT_ALLOC || event->kind == MS_EVENT_FREE)
            s->is_there[event->id] = event->kind == MS_EVENT_ALLOC;
    }
    for (uint32_t i = 0; i < s->trace->storages.count; i++)
        if (s->is_there[i] && s->usage->block_bytes[i])
            s->residents[s->resident_count++] = (resident){s->usage->addresses[i], i};
    qsort(s->residents, s->resident_count, sizeof *s->residents, by_address);
}

static uint32_t resident_at(const snapshot *s, uint64_t address)
{
    const resident wanted = {.address = address};
    const resident *found =
        bsearch(&wanted, s->residents, s->resident_count, sizeof wanted, by_address);
    return found ? found->storage : MS_NONE;
}

static void put_block(snapshot *s, const ms_allocator_piece *piece)
{
    ms_pickle_dict(&s->pickle);
    put_number(s, KEY_ADDRESS, piece->address);
    put_number(s, KEY_SIZE, piece->bytes);
    put_number(s, KEY_REQUESTED_SIZE, piece->is_held ? piece->requested_bytes : 0);
    put_word(s, KEY_STATE,
             piece->is_waiting ? KEY_WAITING
             : piece->is_held  ? KEY_HELD
                               : KEY_INACTIVE);
    put_frames(s, piece->is_held ? resident_at(s, piece->address) : MS_NONE);
    ms_pickle_end_dict(&s->pickle);
}

static void put_segment(snapshot *s, const ms_allocator_piece *pieces, uint32_t count)
{
    uint64_t total = 0, held = 0;
    for (uint32_t i = 0; i < count; i++) {
        total += pieces[i].bytes;
        held += pieces[i].is_held ? pieces[i].bytes : 0;
    }
    ms_pickle_dict(&s->pickle);
    put_number(s, KEY_DEVICE, 0);
    put_number(s, KEY_ADDRESS, pieces->address);
    put_number(s, KEY_TOTAL_SIZE, total);
    put_number(s, KEY_ALLOCATED_SIZE, held);
    put_number(s, KEY_ACTIVE_SIZE, held);
    put_number(s, KEY_STREAM, 0);
    put_word(s, KEY_SEGMENT_TYPE, pieces->is_small ? KEY_SMALL : KEY_LARGE);
    put_frames(s, MS_NONE);
    put_key(s, KEY_BLOCKS);
    ms_pickle_list(&s->pickle);
    for (uint32_t i = 0; i < count; i++) {
        ms_pickle_next(&s->pickle, i);
        put_block(s, &pieces[i]);
    }
    ms_pickle_end_list(&s->pickle);
    ms_pickle_end_dict(&s->pickle);
}

static void put_segments(snapshot *s)
{
    const ms_allocator_pieces *pieces = &s->usage->pieces;
    uint64_t number = 0;
    ms_pickle_list(&s->pickle);
    for (uint32_t i = 0; i < pieces->count;) {
        uint32_t end = i + 1;
        while (end < pieces->count && !pieces->items[end].begins_segment)
            end++;
        ms_pickle_next(&s->pickle, number++);
        put_segment(s, pieces->items + i, end - i);
        i = end;
    }
    ms_pickle_end_list(&s->pickle);
}

static void put_all(snapshot *s)
{
    ms_pickle_begin(&s->pickle);
    ms_pickle_dict(&s->pickle);
    ms_pickle_text(&s->pickle, "segments");
    put_segments(s);
    ms_pickle_text(&s->pickle, "device_traces");
    ms_pickle_list(&s->pickle);
    put_trace(s);
    ms_pickle_end_list(&s->pickle);
    ms_pickle_end_dict(&s->pickle);
    ms_pickle_end(&s->pickle);
}

bool ms_report_memory_viz(FILE *out, const ms_view *view)
{
    const ms_ledger *ledger = view->ledger;
    snapshot s = {.pickle = {.out = out},
                  .view = view,
                  .trace = &ledger->simulation->trace,
                  .usage = ledger->usage,
                  .model = ms_view_model(view)};
    size_t count = (size_t)s.trace->storages.count + 1;
    s.frames = calloc(count, sizeof *s.frames);
    s.is_there = calloc(count, sizeof *s.is_there);
    s.residents = calloc(count, sizeof *s.residents);
    bool ok = s.frames && s.is_there && s.residents;
    if (ok) {
        find_residents(&s);
        put_all(&s);
    }
    free(s.frames);
    free(s.is_there);
    free(s.residents);
    return ok;
}
