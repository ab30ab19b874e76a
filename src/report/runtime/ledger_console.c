/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/runtime/ledger_console.h"

#include <inttypes.h>
#include <string.h>

#include "base/locale.h"
#include "base/utf8.h"

enum { KIND_COLUMNS = 12, COLUMN_COLUMNS = 13, MOST_DEVICES = 3, MIB_TEXT = 32 };
#define BYTES_OF_MIB 1048576.0

/* llama.cpp's own log is in MiB too. */
static const char *in_mib(uint64_t bytes, char text[MIB_TEXT])
{
    ms_text_print(text, MIB_TEXT, "%.2f", (double)bytes / BYTES_OF_MIB);
    return text;
}

static const char *place_name(const ms_recorded_memory *m, char text[MIB_TEXT])
{
    snprintf(text, MIB_TEXT, m->is_on_device ? "device %" PRIu64 : "pinned host", m->device);
    return text;
}

static void put_cell(const ms_page *page, const char *text)
{
    fprintf(page->out, " %*s", COLUMN_COLUMNS, text);
}

static bool is_same_place(const ms_recorded_memory *m, const ms_recorded_buffer *b)
{
    return m->is_on_device == b->is_on_device && m->device == b->device;
}

static uint64_t most_of(const ms_recorded *r, const ms_recorded_memory *m, const char *kind)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->buffer_count; i++)
        if (is_same_place(m, &r->buffers[i]) && strcmp(r->buffers[i].kind, kind) == 0)
            sum += r->buffers[i].most_bytes;
    return sum;
}

static uint32_t device_count(const ms_recorded *r)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->memory_count; i++)
        count += r->memories[i].is_on_device;
    return count;
}

/* The columns of the table: the sum over devices where there are several, and each memory; with
 * many devices their sum alone. */
typedef struct column {
    const ms_recorded_memory *memory; /* NULL: the sum */
} column;

/* Of one cell: the most of a kind; of KIND_ALL and KIND_USED at one time, of all kinds. */
#define KIND_ALL "in all"
#define KIND_USED "in use"

static uint64_t bytes_of(const ms_recorded *r, const ms_recorded_memory *m, const char *kind)
{
    return strcmp(kind, KIND_ALL) == 0    ? m->peak_bytes
           : strcmp(kind, KIND_USED) == 0 ? m->used_bytes
                                          : most_of(r, m, kind);
}

static uint64_t cell_of(const ms_recorded *r, const column *c, const char *kind)
{
    uint64_t sum = 0;
    if (c->memory)
        return bytes_of(r, c->memory, kind);
    for (uint32_t i = 0; i < r->memory_count; i++)
        sum += r->memories[i].is_on_device ? bytes_of(r, &r->memories[i], kind) : 0;
    return sum;
}

static uint32_t columns_of(const ms_recorded *r, column columns[MOST_DEVICES + 2])
{
    uint32_t count = 0, devices = device_count(r);
    if (devices > 1)
        columns[count++] = (column){NULL};
    for (uint32_t i = 0; i < r->memory_count && count < MOST_DEVICES + 2; i++)
        if (!r->memories[i].is_on_device || devices <= MOST_DEVICES)
            columns[count++] = (column){&r->memories[i]};
    return count;
}

/* Whether no earlier buffer is of that kind. */
static bool is_first(const ms_recorded *r, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(r->buffers[i].kind, r->buffers[index].kind) == 0)
            return false;
    return true;
}

static void write_row(const ms_recorded *r, const ms_page *page, const column *columns,
                      uint32_t count, const char *kind, bool is_total)
{
    char text[MIB_TEXT];
    fputs("  ", page->out);
    ms_page_cell(page, kind, KIND_COLUMNS);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bytes = cell_of(r, &columns[i], kind);
        put_cell(page, bytes > 0 || is_total ? in_mib(bytes, text) : "");
    }
    fputc('\n', page->out);
}

static void write_columns(const ms_recorded *r, const ms_page *page, const column *columns,
                          uint32_t count)
{
    char name[MIB_TEXT];
    fprintf(page->out, "  %-*s", KIND_COLUMNS, "");
    for (uint32_t i = 0; i < count; i++)
        put_cell(page, columns[i].memory ? place_name(columns[i].memory, name) : "all devices");
    fputc('\n', page->out);
    for (uint32_t i = 0; i < r->buffer_count; i++)
        if (is_first(r, i))
            write_row(r, page, columns, count, r->buffers[i].kind, false);
    write_row(r, page, columns, count, KIND_ALL, true);
    write_row(r, page, columns, count, KIND_USED, true);
}

/* So many columns at a time as there is room for. */
static void write_buffers(const ms_recorded *r, const ms_page *page)
{
    column columns[MOST_DEVICES + 2];
    const uint32_t count = columns_of(r, columns);
    const uint32_t room = (page->columns - 2 - KIND_COLUMNS) / (COLUMN_COLUMNS + 1);
    ms_page_heading(page, "Buffers", "  (MiB; the maximum of each, and of all together)");
    for (uint32_t first = 0; first < count; first += room) {
        if (first > 0)
            fputc('\n', page->out);
        write_columns(r, page, columns + first, count - first < room ? count - first : room);
    }
    if (device_count(r) > MOST_DEVICES)
        fputs("  each device is in runtime_report.json\n", page->out);
}

static void write_phases(const ms_recorded *r, const ms_page *page)
{
    char start[MIB_TEXT], peak[MIB_TEXT], end[MIB_TEXT];
    ms_page_heading(page, "Phases", "  (MiB on all devices)");
    const int width = (int)ms_page_room(page, 3 * COLUMN_COLUMNS, 2 + KIND_COLUMNS + 3) / 3;
    fprintf(page->out, "  %-*s %*s %*s %*s\n", KIND_COLUMNS, "", width, "start", width, "peak",
            width, "end");
    for (uint32_t i = 0; i < r->phase_count; i++) {
        const ms_recorded_phase *p = &r->phases[i];
        fputs("  ", page->out);
        ms_page_cell(page, p->name, KIND_COLUMNS);
        fprintf(page->out, " %*s %*s %*s\n", width, in_mib(p->start_bytes, start), width,
                in_mib(p->peak_bytes, peak), width, in_mib(p->end_bytes, end));
    }
}

static void write_head(const ms_recorded *r, const ms_page *page)
{
    char used[MIB_TEXT], most[MIB_TEXT];
    const ms_recorded_memory *fullest = NULL;
    for (uint32_t i = 0; i < r->memory_count; i++)
        if (r->memories[i].is_on_device &&
            (!fullest || r->memories[i].used_bytes > fullest->used_bytes))
            fullest = &r->memories[i];
    ms_page_subject(page, r->device ? r->device : "a GPU",
                    "(null device: the program's own allocations, no kernels)");
    if (fullest)
        ms_page_say(page, "%s, at most %s MiB in use of the %s MiB of device %" PRIu64, r->ledger,
                    in_mib(fullest->used_bytes, used), in_mib(r->device_bytes, most),
                    fullest->device);
    else
        ms_page_paragraph(page, r->ledger);
}

void ms_ledger_console(const ms_recorded *r, const ms_page *page)
{
    write_head(r, page);
    if (r->buffer_count > 0)
        write_buffers(r, page);
    if (r->phase_count > 0)
        write_phases(r, page);
    for (uint32_t i = 0; i < r->note_count; i++)
        ms_page_note(page, "note:", r->notes[i]);
}
