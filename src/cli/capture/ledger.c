/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/capture/ledger.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 8448 /* the null device's are shorter */ };
static const char ending[] = ".ledger";

const char *ms_cli_use_name(ms_cli_use use)
{
    static const char *const names[MS_CLI_USES] = {"model",     "kv",      "state",     "compute",
                                                   "output",    "pool",    "workspace", "adapter",
                                                   "projector", "staging", "other"};
    return names[use];
}

const char *ms_cli_stage_name(ms_cli_stage stage)
{
    static const char *const names[MS_CLI_STAGES] = {"start", "load", "cache", "serve"};
    return names[stage];
}

/* ---- what functions say ---- */

typedef struct row {
    const char *part; /* of the function's symbol */
    int meaning;
} row;

/* Symbols of C++ hold the names of classes and functions as they are. */
static const row uses[] = {
    {"ggml_cuda_pool", MS_CLI_USE_POOL},
    {"ggml_gallocr", MS_CLI_USE_COMPUTE},
    {"ggml_backend_sched_reserve", MS_CLI_USE_COMPUTE},
    {"ggml_backend_sched_alloc", MS_CLI_USE_COMPUTE},
    {"llama_kv_cache", MS_CLI_USE_KV},
    {"kv_cache_init", MS_CLI_USE_KV},
    {"llama_memory_recurrent", MS_CLI_USE_STATE},
    {"output_reserve", MS_CLI_USE_OUTPUT},
    {"llama_adapter", MS_CLI_USE_ADAPTER},
    {"clip_model_loader", MS_CLI_USE_PROJECTOR},
    {"load_all_data", MS_CLI_USE_STAGING},
    {"load_tensors", MS_CLI_USE_MODEL},
    {"model_load", MS_CLI_USE_MODEL},
    {NULL, MS_CLI_USE_OTHER},
};
static const row stages[] = {
    {"llama_model_load", MS_CLI_STAGE_LOAD},
    {"load_tensors", MS_CLI_STAGE_LOAD},
    {"llama_init_from_model", MS_CLI_STAGE_CACHE},
    {"llama_new_context", MS_CLI_STAGE_CACHE},
    {"llama_decode", MS_CLI_STAGE_SERVE},
    {"llama_encode", MS_CLI_STAGE_SERVE},
    {"llama_process", MS_CLI_STAGE_SERVE},
    {"graph_compute", MS_CLI_STAGE_SERVE},
    {NULL, MS_CLI_STAGE_NONE},
};

static const row *find_row(const row *rows, const char *function)
{
    while (rows->part && !strstr(function, rows->part))
        rows++;
    return rows;
}

/* The innermost function that says it. */
static ms_cli_use use_of(char *functions)
{
    char *rest = NULL;
    for (const char *f = strtok_r(functions, " \n", &rest); f; f = strtok_r(NULL, " \n", &rest)) {
        const row *found = find_row(uses, f);
        if (found->part)
            return (ms_cli_use)found->meaning;
    }
    return MS_CLI_USE_OTHER;
}

/* The outermost one: contexts are made, and graphs computed, inside others. Each function is behind
 * a blank. */
static ms_cli_stage stage_of(char *functions, ms_cli_stage before)
{
    for (size_t at = strlen(functions); at-- > 0;) {
        if (functions[at] != ' ')
            continue;
        char *end = functions + at + 1 + strcspn(functions + at + 1, " \n");
        char ended_by = *end;
        *end = '\0';
        const row *found = find_row(stages, functions + at + 1);
        *end = ended_by;
        if (found->part)
            return (ms_cli_stage)found->meaning;
    }
    return before;
}

/* ---- one process ---- */

typedef struct block {
    uint64_t id, asked, granted;
    int place;
    ms_cli_use use;
} block;

typedef struct reading {
    ms_cli_ledger *ledger;
    block *blocks;
    size_t count, capacity;
    uint64_t most_before; /* of the use of the block that was taken last */
} reading;

static void add(ms_cli_amount *to, const block *b)
{
    to->count++;
    to->asked += b->asked;
    to->granted += b->granted;
}

static void subtract(ms_cli_amount *from, const block *b)
{
    from->count--;
    from->asked -= b->asked;
    from->granted -= b->granted;
}

static ms_cli_amount on_all_devices(const ms_cli_ledger *l)
{
    ms_cli_amount sum = {0};
    for (int i = 0; i < MS_CLI_LEDGER_DEVICES; i++) {
        sum.asked += l->places[i].now.asked;
        sum.granted += l->places[i].now.granted;
    }
    return sum;
}

static void enter(ms_cli_ledger *l, ms_cli_stage stage)
{
    if (stage == l->stage)
        return;
    l->stage = stage;
    ms_cli_span *span = &l->spans[stage];
    if (span->repeats++ == 0)
        span->start = span->peak = on_all_devices(l);
}

/* After each event. */
static void note_levels(ms_cli_ledger *l, ms_cli_memory *p)
{
    ms_cli_span *span = &l->spans[l->stage];
    if (p->now.granted > p->peak.granted) {
        p->peak = p->now;
        memcpy(p->at_peak, p->uses, sizeof p->at_peak);
    }
    for (int i = 0; i < MS_CLI_USES; i++)
        if (p->uses[i].asked > p->most_asked[i])
            p->most_asked[i] = p->uses[i].asked;
    const ms_cli_amount now = on_all_devices(l);
    if (now.granted > span->peak.granted)
        span->peak = now;
}

static bool keep(reading *r, block b)
{
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 64;
        block *blocks = realloc(r->blocks, capacity * sizeof *blocks);
        if (!blocks)
            return false;
        r->blocks = blocks;
        r->capacity = capacity;
    }
    r->blocks[r->count++] = b;
    return true;
}

static int place_of(char kind, int device)
{
    if (kind == 'h')
        return MS_CLI_LEDGER_HOST;
    return device >= 0 && device < MS_CLI_LEDGER_DEVICES ? device : -1;
}

static void take(reading *r, char *line)
{
    char kind = 0;
    int device = 0, used = 0;
    block b = {0};
    if (sscanf(line, "+ %c %d %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &kind, &device, &b.id,
               &b.asked, &b.granted, &used) < 5)
        return;
    b.place = place_of(kind, device);
    if (b.place < 0)
        return;
    ms_cli_ledger *l = r->ledger;
    l->has_llama = l->has_llama || strstr(line + used, "llama_");
    l->has_ggml = l->has_ggml || strstr(line + used, "ggml_");
    /* llama.cpp tries contexts without memory before it loads; their outputs are pinned. */
    if (b.place != MS_CLI_LEDGER_HOST)
        enter(l, stage_of(line + used, l->stage));
    b.use = use_of(line + used);
    if (!keep(r, b))
        return;
    ms_cli_memory *p = &l->places[b.place];
    p->is_used = true;
    r->most_before = p->most_asked[b.use];
    add(&p->now, &b);
    add(&p->uses[b.use], &b);
    note_levels(l, p);
    /* A program that ends gives everything back: that is not how the phase ends. */
    l->spans[l->stage].end = on_all_devices(l);
}

static block *find_block(const reading *r, uint64_t id)
{
    for (size_t i = r->count; i-- > 0;)
        if (r->blocks[i].id == id)
            return &r->blocks[i];
    return NULL;
}

static void give_back(reading *r, const char *line)
{
    uint64_t id = 0;
    block *b = sscanf(line, "- %*c %*d %" SCNu64, &id) == 1 ? find_block(r, id) : NULL;
    if (!b)
        return;
    ms_cli_memory *p = &r->ledger->places[b->place];
    subtract(&p->now, b);
    subtract(&p->uses[b->use], b);
    note_levels(r->ledger, p);
    *b = r->blocks[--r->count];
}

/* It was taken just before. */
static void name_workspace(reading *r, const char *line)
{
    uint64_t id = 0;
    block *b = sscanf(line, "w %" SCNu64, &id) == 1 ? find_block(r, id) : NULL;
    if (!b)
        return;
    ms_cli_memory *p = &r->ledger->places[b->place];
    bool is_peak = p->now.granted == p->peak.granted;
    subtract(&p->uses[b->use], b);
    if (b == &r->blocks[r->count - 1])
        p->most_asked[b->use] = r->most_before;
    b->use = MS_CLI_USE_WORKSPACE;
    add(&p->uses[b->use], b);
    if (is_peak)
        memcpy(p->at_peak, p->uses, sizeof p->at_peak);
    note_levels(r->ledger, p);
}

static void refuse(reading *r, const char *line)
{
    char kind = 0;
    int device = 0;
    uint64_t bytes = 0;
    if (sscanf(line, "! %c %d %" SCNu64, &kind, &device, &bytes) < 3 || kind == 'h' ||
        place_of(kind, device) < 0)
        return;
    r->ledger->refused_device = device;
    r->ledger->refused_bytes = bytes;
    r->ledger->in_use_bytes = r->ledger->places[device].now.granted;
}

static void note_pool(ms_cli_ledger *l, const char *line)
{
    char how = 0;
    char call[sizeof l->uncovered_pool] = "";
    if (sscanf(line, "p %c %47s", &how, call) < 2)
        return;
    l->has_pools = l->has_pools || how == 'a';
    if (how == 'u' && !l->uncovered_pool[0])
        memcpy(l->uncovered_pool, call, sizeof call);
}

static void read_process(FILE *file, ms_cli_ledger *ledger)
{
    char line[LINE_BYTES];
    reading r = {.ledger = ledger};
    memset(ledger, 0, sizeof *ledger);
    ledger->refused_device = -1;
    while (fgets(line, sizeof line, file))
        switch (line[0]) {
        case '+':
            take(&r, line);
            break;
        case '-':
            give_back(&r, line);
            break;
        case 'w':
            name_workspace(&r, line);
            break;
        case 'p':
            note_pool(ledger, line);
            break;
        case '!':
            refuse(&r, line);
            break;
        default:
            break;
        }
    free(r.blocks);
}

/* ---- all of them ---- */

static uint64_t peak_of(const ms_cli_ledger *l)
{
    uint64_t sum = 0;
    for (int i = 0; i < MS_CLI_LEDGER_DEVICES; i++)
        sum += l->places[i].peak.granted;
    return sum;
}

static bool has_ending(const char *name)
{
    size_t length = strlen(name), end = sizeof ending - 1;
    return length > end && strcmp(name + length - end, ending) == 0;
}

/* Takes the place of the better one of two. */
static void keep_larger(ms_cli_ledger **best, ms_cli_ledger **found)
{
    ms_cli_ledger *larger = !*best || peak_of(*found) > peak_of(*best) ? *found : *best;
    *found = larger == *found ? *best : *found;
    *best = larger;
}

ms_cli_ledger *ms_cli_ledger_read(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    uint64_t processes = 0;
    ms_cli_ledger *best = NULL, *found = NULL;
    while (dir && (entry = readdir(dir)) != NULL) {
        char path[2 * PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = has_ending(entry->d_name) ? fopen(path, "r") : NULL;
        found = file && !found ? malloc(sizeof *found) : found;
        if (file && found) {
            read_process(file, found);
            processes++;
            keep_larger(&best, &found);
        }
        if (file)
            fclose(file);
    }
    if (dir)
        closedir(dir);
    free(found);
    if (best)
        best->processes = processes;
    return best;
}
