/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/runtime/ledger_console.h"

#include <inttypes.h>
#include <string.h>

#include "base/locale.h"
#include "base/printable.h"

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
    snprintf(text, MIB_TEXT, m->is_host ? "pinned host" : "device %" PRIu64, m->device);
    return text;
}

static void put_cell(const ms_page *page, const char *text)
{
    fprintf(page->out, " %*s", COLUMN_COLUMNS, text);
}

static bool is_same_place(const ms_recorded_memory *m, const ms_recorded_buffer *b)
{
    return m->is_host == b->is_host && (m->is_host || m->device == b->device);
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
        count += !r->memories[i].is_host;
    return count;
}

/* With many devices their sum is shown alone. */
static bool shows(const ms_recorded *r, const ms_recorded_memory *m)
{
    return m->is_host || device_count(r) <= MOST_DEVICES;
}

static void write_row(const ms_recorded *r, const ms_page *page, const char *kind)
{
    char text[MIB_TEXT];
    uint64_t sum = 0;
    fputs("  ", page->out);
    ms_page_cell(page, kind, KIND_COLUMNS);
    for (uint32_t i = 0; i < r->memory_count; i++)
        sum += r->memories[i].is_host ? 0 : most_of(r, &r->memories[i], kind);
    if (device_count(r) > 1)
        put_cell(page, sum > 0 ? in_mib(sum, text) : "");
    for (uint32_t i = 0; i < r->memory_count; i++) {
        uint64_t bytes = most_of(r, &r->memories[i], kind);
        if (shows(r, &r->memories[i]))
            put_cell(page, bytes > 0 ? in_mib(bytes, text) : "");
    }
    fputc('\n', page->out);
}

/* Whether no earlier buffer is of that kind. */
static bool is_first(const ms_recorded *r, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(r->buffers[i].kind, r->buffers[index].kind) == 0)
            return false;
    return true;
}

static void write_all(const ms_recorded *r, const ms_page *page, const char *title, bool is_used)
{
    char text[MIB_TEXT];
    uint64_t sum = 0;
    fputs("  ", page->out);
    ms_page_cell(page, title, KIND_COLUMNS);
    for (uint32_t i = 0; i < r->memory_count; i++) {
        const ms_recorded_memory *m = &r->memories[i];
        sum += m->is_host ? 0 : is_used ? m->used_bytes : m->peak_bytes;
    }
    if (device_count(r) > 1)
        put_cell(page, in_mib(sum, text));
    for (uint32_t i = 0; i < r->memory_count; i++) {
        const ms_recorded_memory *m = &r->memories[i];
        if (shows(r, m))
            put_cell(page, in_mib(is_used ? m->used_bytes : m->peak_bytes, text));
    }
    fputc('\n', page->out);
}

static void write_buffers(const ms_recorded *r, const ms_page *page)
{
    char name[MIB_TEXT];
    ms_page_heading(page, "Buffers", "  (MiB; each at its most, and in all at one time)");
    fprintf(page->out, "  %-*s", KIND_COLUMNS, "");
    if (device_count(r) > 1)
        put_cell(page, "all devices");
    for (uint32_t i = 0; i < r->memory_count; i++)
        if (shows(r, &r->memories[i]))
            put_cell(page, place_name(&r->memories[i], name));
    fputc('\n', page->out);
    for (uint32_t i = 0; i < r->buffer_count; i++)
        if (is_first(r, i))
            write_row(r, page, r->buffers[i].kind);
    write_all(r, page, "in all", false);
    write_all(r, page, "in use", true);
    if (device_count(r) > MOST_DEVICES)
        fputs("  each device is in runtime_report.json\n", page->out);
}

static void write_phases(const ms_recorded *r, const ms_page *page)
{
    char start[MIB_TEXT], peak[MIB_TEXT], end[MIB_TEXT];
    ms_page_heading(page, "Phases", "  (MiB on all devices)");
    fprintf(page->out, "  %-*s %13s %13s %13s\n", KIND_COLUMNS, "", "start", "peak", "end");
    for (uint32_t i = 0; i < r->phase_count; i++) {
        const ms_recorded_phase *p = &r->phases[i];
        fputs("  ", page->out);
        ms_page_cell(page, p->name, KIND_COLUMNS);
        fprintf(page->out, " %13s %13s %13s\n", in_mib(p->start_bytes, start),
                in_mib(p->peak_bytes, peak), in_mib(p->end_bytes, end));
    }
}

static void write_head(const ms_recorded *r, const ms_page *page)
{
    char used[MIB_TEXT], most[MIB_TEXT];
    const ms_recorded_memory *fullest = NULL;
    for (uint32_t i = 0; i < r->memory_count; i++)
        if (!r->memories[i].is_host &&
            (!fullest || r->memories[i].used_bytes > fullest->used_bytes))
            fullest = &r->memories[i];
    fputs(ms_page_tone(page, MS_TONE_BOLD), page->out);
    ms_put_printable(page->out, r->device ? r->device : "a GPU");
    fputs(ms_page_tone(page, MS_TONE_END), page->out);
    fputs(" (null device: the program's own allocations, no kernels)\n", page->out);
    ms_page_put(page, "  %s", r->ledger);
    if (fullest)
        ms_page_put(page, ", at most %s MiB in use of the %s MiB of device %" PRIu64,
                    in_mib(fullest->used_bytes, used), in_mib(r->device_bytes, most),
                    fullest->device);
    fputc('\n', page->out);
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
