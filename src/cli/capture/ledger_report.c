/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/capture/ledger_report.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/output/message.h"

/* ---- command words ---- */

/* A command line as reports show it: no absolute path, no secret. scripts/memscope_torch/shown.py
 * does the same for programs with Python. */

enum { MOST_BYTES = 4096, NAME_BYTES = 64 };

static const char mask[] = "***";

static bool has_part(const char *name, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(name, *parts))
            return true;
    return false;
}

/* Whether an option of that name has a secret as its value: --api-key, HF_TOKEN. */
static bool names_secret(const char *word, size_t bytes)
{
    static const char *const parts[] = {"token",   "passw",   "secret", "credential", "apikey",
                                        "api-key", "api_key", "auth",   NULL};
    /* Numbers of tokens, and files. */
    static const char *const others[] = {"tokens", "-file", "author", "tokenize", NULL};
    char name[NAME_BYTES];
    if (bytes >= sizeof name)
        return false;
    for (size_t i = 0; i < bytes; i++)
        name[i] = (char)tolower((unsigned char)word[i]);
    name[bytes] = '\0';
    return has_part(name, parts) && !has_part(name, others);
}

static bool looks_secret(const char *word)
{
    static const char *const beginnings[] = {"hf_", "sk-",  "ghp_", "github_pat_", "glpat-",
                                             "xox", "AKIA", "AIza", "nvapi-",      NULL};
    for (const char *const *b = beginnings; *b; b++)
        if (strncmp(word, *b, strlen(*b)) == 0 && strlen(word) >= strlen(*b) + 8)
            return true;
    return false;
}

/* An absolute path is its last part. */
static const char *shown_path(const char *word, bool hides_paths)
{
    const char *slash = strrchr(word, '/');
    return slash && slash[1] && (word[0] == '/' || hides_paths) ? slash + 1 : word;
}

static void put_text(FILE *out, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < MOST_BYTES; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ')
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
}

static void write_word(FILE *out, const char *word, bool hides_paths)
{
    const char *equals = strchr(word, '=');
    size_t name = equals ? (size_t)(equals - word) + 1 : 0;
    const char *value = word + name;
    put_text(out, word, name);
    if ((name > 0 && names_secret(word, name - 1)) || looks_secret(value))
        value = mask;
    value = shown_path(value, hides_paths);
    put_text(out, value, strlen(value));
}

/* Writes the words as strings of JSON with commas between them. */
static void cli_write_command(FILE *out, char *const *words, bool hides_paths)
{
    bool is_value = false; /* of the option before */
    for (size_t i = 0; words[i]; i++) {
        const char *word = words[i];
        bool is_option = word[0] == '-';
        fputs(i > 0 ? ", \"" : "\"", out);
        write_word(out, is_value && !is_option ? mask : word, hides_paths);
        fputc('"', out);
        is_value = is_option && !strchr(word, '=') && names_secret(word, strlen(word));
    }
}

/* ---- ledger report ---- */

enum { PATH_BYTES = 4096 };

static void write_head(FILE *out, const ms_cli_ledger *l, const ms_cli_ledger_ending *e)
{
    fprintf(out, "{\n \"schema_version\": \"%s\",\n \"outcome\": \"%s\",\n",
            MS_RUNTIME_SCHEMA_VERSION, e->outcome);
    if (strcmp(e->outcome, "out_of_memory") == 0)
        fprintf(out,
                " \"message\": \"device %d refused %" PRIu64 " bytes, with %" PRIu64
                " bytes in use\",\n",
                l->refused_device, l->refused_bytes, l->in_use_bytes);
    else if (e->how)
        fprintf(out, " \"message\": \"the program %s\",\n", e->how);
    else
        fputs(" \"message\": null,\n", out);
    fputs(" \"hint\": null,\n", out);
}

static void write_metadata(FILE *out, const ms_cli_capture_request *request)
{
    const ms_device_facts *d = request->device;
    fprintf(out,
            " \"metadata\": {\n  \"mode\": \"null\",\n  \"device\": \"%s\",\n  \"steps\": 0,\n"
            "  \"python\": \"\",\n  \"torch\": null,\n  \"command\": [",
            d->name);
    cli_write_command(out, request->program, request->hides_paths);
    fprintf(out,
            "],\n  \"allocator\": \"\",\n  \"libraries\": {},\n  \"device_title\": \"%s\",\n"
            "  \"device_bytes\": %" PRIu64 ",\n  \"device_count\": %" PRIu64
            ",\n  \"compute_capability\": \"%u.%u\",\n  \"multiprocessors\": %u\n },\n",
            d->title, d->total_bytes, request->device_count, (unsigned)d->compute_capability / 10,
            (unsigned)d->compute_capability % 10, (unsigned)d->multiprocessors);
}

static void write_place_name(FILE *out, int place)
{
    if (place == MS_CLI_LEDGER_HOST)
        fputs("{\"device\": null, ", out);
    else
        fprintf(out, "{\"device\": %d, ", place);
}

static void write_places(FILE *out, const ms_cli_ledger *l)
{
    const char *before = "\n";
    fputs("  \"memories\": [", out);
    for (int i = 0; i < MS_CLI_PLACES; i++) {
        const ms_cli_memory *p = &l->places[i];
        if (!p->is_used)
            continue;
        fputs(before, out);
        fputs("   ", out);
        write_place_name(out, i);
        fprintf(out, "\"peak_bytes\": %" PRIu64 ", \"peak_used_bytes\": %" PRIu64 "}",
                p->peak.asked, p->peak.granted);
        before = ",\n";
    }
    fputs("\n  ],\n", out);
}

static void write_buffers(FILE *out, const ms_cli_ledger *l)
{
    const char *before = "\n";
    fputs("  \"buffers\": [", out);
    for (int i = 0; i < MS_CLI_PLACES; i++)
        for (int use = 0; use < MS_CLI_USES; use++) {
            const ms_cli_memory *p = &l->places[i];
            const ms_cli_amount *a = &p->at_peak[use];
            if (p->most_asked[use] == 0)
                continue;
            fputs(before, out);
            fputs("   ", out);
            write_place_name(out, i);
            fprintf(out,
                    "\"kind\": \"%s\", \"count\": %" PRIu64 ", \"bytes\": %" PRIu64
                    ", \"used_bytes\": %" PRIu64 ", \"most_bytes\": %" PRIu64 "}",
                    ms_cli_use_name((ms_cli_use)use), a->count, a->asked, a->granted,
                    p->most_asked[use]);
            before = ",\n";
        }
    fputs("\n  ]\n", out);
}

static void write_phases(FILE *out, const ms_cli_ledger *l)
{
    const char *before = "\n";
    fputs(" \"phases\": [", out);
    for (int i = MS_CLI_STAGE_LOAD; i < MS_CLI_STAGES; i++) {
        const ms_cli_span *s = &l->spans[i];
        if (s->repeats == 0)
            continue;
        fprintf(
            out,
            "%s  {\"phase\": \"%s\", \"micro_step\": 0, \"repeats\": %" PRIu64
            ", \"start_bytes\": %" PRIu64 ", \"peak_bytes\": %" PRIu64 ", \"end_bytes\": %" PRIu64
            ", \"peak_requested_bytes\": %" PRIu64 ", \"end_requested_bytes\": %" PRIu64
            ", \"peak_reserved_bytes\": %" PRIu64 ", \"end_reserved_bytes\": %" PRIu64 "}",
            before, ms_cli_stage_name((ms_cli_stage)i), s->repeats, s->start.asked, s->peak.asked,
            s->end.asked, s->peak.asked, s->end.asked, s->peak.granted, s->end.granted);
        before = ",\n";
    }
    fputs("\n ],\n", out);
}

/* The first line stands without a comma. */
static void write_notes(FILE *out, const ms_cli_ledger *l, const ms_cli_ledger_ending *e,
                        const ms_cli_capture_request *request)
{
    fputs(" \"notes\": [\n"
          "  \"memory that the driver keeps for itself, CUDA's context and kernel code, is not "
          "included\"",
          out);
    if (e->was_running && e->how)
        fprintf(out, ",\n  \"the program %s\"", e->how);
    if (request->traces_calls || request->writes_trace)
        fputs(",\n"
              "  \"a trace and a list of calls are written only for programs that use PyTorch\"",
              out);
    if (l->processes > 1)
        fprintf(out,
                ",\n"
                "  \"%" PRIu64
                " processes used the device; the figures are those of the one that used the most\"",
                l->processes);
    if (l->has_pools)
        fputs(",\n"
              "  \"memory from cudaMallocAsync is counted as the program uses it; how much the "
              "driver's pool keeps is not known\"",
              out);
    if (l->refused_device >= 0 && strcmp(e->outcome, "out_of_memory") != 0)
        fprintf(out,
                ",\n  \"device %d refused %" PRIu64 " bytes, with %" PRIu64
                " bytes in use, and the program went on\"",
                l->refused_device, l->refused_bytes, l->in_use_bytes);
    fputs("\n ]\n}\n", out);
}

ms_status ms_cli_ledger_write(const ms_cli_ledger *l, const ms_cli_capture_request *request,
                              const ms_cli_ledger_ending *ending, const char *stem, ms_error *err)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.json", request->folder, stem);
    FILE *out = fopen(path, "w");
    if (!out)
        return ms_cli_fail_errno(err, "write", path);
    write_head(out, l, ending);
    write_metadata(out, request);
    fprintf(out, " \"ledger\": {\n  \"program\": \"%s\",\n",
            l->has_llama  ? "llama.cpp"
            : l->has_ggml ? "ggml"
                          : "CUDA");
    write_places(out, l);
    write_buffers(out, l);
    fputs(" },\n", out);
    write_phases(out, l);
    write_notes(out, l, ending, request);
    bool failed = ferror(out);
    return fclose(out) == 0 && !failed ? MS_OK : ms_cli_fail_errno(err, "write", path);
}
