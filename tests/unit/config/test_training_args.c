/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Replays tests/golden/config/training: each folder holds a file of training settings, `args.yaml`,
 * `args.json` or `args.toml`, and what the run comes to (`run`) or how it is refused (`error`).
 * `flags`, one "name value" a line, are given beside it. A sentence that many cases have is written
 * once, in tests/golden/config/sentences, and stands in the others by its name: {no-batch}.
 */
#include "input/config/adapter/adapter_text.h"
#include "input/config/run/liger.h"
#include "unit/support.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "input/config/model/model_config.h"
#include "model/load.h"

enum { MAX_CASES = 512, MAX_NAME = 64, MAX_FLAGS = 8, MAX_TEXT = 4096 };

static const char root[] = "tests/golden/config/training";

typedef struct flags {
    ms_run_setting settings[MAX_FLAGS];
    size_t count;
    char text[512];
} flags;

static void read_file(const char *folder, const char *file, char *out, size_t size)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, file);
    FILE *in = fopen(path, "r");
    size_t used = in ? fread(out, 1, size - 1, in) : 0;
    out[used] = '\0';
    if (in)
        fclose(in);
}

/* ---- sentences that many cases have ---- */

enum { MAX_SENTENCES = 32 };

typedef struct sentence {
    char *name, *text;
    size_t uses;
} sentence;

static sentence sentences[MAX_SENTENCES];
static size_t sentence_count;

static bool read_sentences(void)
{
    static char all[MAX_TEXT];
    read_file("..", "sentences", all, sizeof all);
    for (char *line = all; *line; sentence_count++) {
        char *blank = strchr(line, ' '), *end = strchr(line, '\n');
        if (*line != '{' || !blank || !end || end - blank <= blank - line ||
            sentence_count == MAX_SENTENCES)
            return false;
        *blank = *end = '\0';
        sentences[sentence_count] = (sentence){.name = line, .text = blank + 1};
        line = end + 1;
    }
    return sentence_count > 0;
}

static void name_sentences(char *text)
{
    for (size_t i = 0; i < sentence_count; i++) {
        sentence *s = &sentences[i];
        for (char *at; (at = strstr(text, s->text)) != NULL; s->uses++) {
            const char *rest = at + strlen(s->text);
            memcpy(at, s->name, strlen(s->name)); /* which is shorter */
            memmove(at + strlen(s->name), rest, strlen(rest) + 1);
        }
    }
}

/* A sentence that no case has any more is an error. */
static void every_sentence_is_used(void **state)
{
    (void)state;
    for (size_t i = 0; i < sentence_count; i++)
        if (sentences[i].uses == 0)
            fail_msg("tests/golden/config/sentences: no case has %s", sentences[i].name);
}

static void add_flag(flags *f, const char *field, const char *value)
{
    assert_true(f->count < MAX_FLAGS);
    f->settings[f->count++] = (ms_run_setting){field, value};
}

static void read_flags(const char *folder, const char *path, flags *f)
{
    *f = (flags){0};
    add_flag(f, "config", "llama-3.2-1b");
    add_flag(f, "training-args", path);
    read_file(folder, "flags", f->text, sizeof f->text);
    for (char *line = f->text; *line;) {
        char *blank = strchr(line, ' '), *end = strchr(line, '\n');
        assert_true(blank && end);
        *blank = *end = '\0';
        add_flag(f, line, blank + 1);
        line = end + 1;
    }
}

/* ---- what a run comes to ---- */

__attribute__((format(printf, 2, 3))) static void put(char *out, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, MAX_TEXT - used, format, args);
    va_end(args);
}

static void write_run(char *out, ms_arena *arena, const ms_run_config *run)
{
    static const char *const autocasts[] = {"none", "bf16", "fp16"};
    static const char *const impls[] = {"fused", "foreach", "loop"};
    put(out, "batch %" PRIu64 "\nseq %" PRIu64 "\naccumulate %" PRIu64 "\n", run->batch,
        run->seq_tokens, run->training.accumulate);
    put(out, "dtype %s\nautocast %s\n", ms_dtype_info_of(run->dtype)->short_name,
        autocasts[run->autocast]);
    put(out, "optimizer %s %s\n", ms_optimizer_names[run->training.optimizer],
        impls[run->training.optimizer_impl]);
    put(out, "weight-decay %g\nclip %g\n", run->training.weight_decay, run->training.clip_norm);
    put(out, "checkpointing %s %s\n", run->checkpointing,
        run->checkpoint_kind == MS_CHECKPOINT_REENTRANT ? "reentrant" : "non-reentrant");
    put(out, "attention %s\n", run->attention == MS_ATTENTION_EAGER ? "eager" : "auto");
    if (run->training.loss != MS_LOSS_MODEL)
        put(out, "loss %s\n", ms_loss_names[run->training.loss]);
    if (run->documents)
        put(out, "documents %" PRIu64 "\n", run->documents);
    if (run->parallel.build == MS_BUILD_DEVICE_MAP)
        put(out, "build device-map\n");
    if (run->training.label_smoothing > 0)
        put(out, "label-smoothing %g\n", run->training.label_smoothing);
    if (run->liger)
        put(out, "liger %s\n", ms_liger_text(arena, run->liger));
    if (run->training.empty_cache_steps)
        put(out, "empty-cache-steps %" PRIu64 "\n", run->training.empty_cache_steps);
    if (run->training.eval_batch)
        put(out, "eval-batch %" PRIu64 "\n", run->training.eval_batch);
    if (run->training.eval_logits)
        put(out, "eval-logits %" PRIu64 "\n", run->training.eval_logits);
    if (run->training.optimizer_in_backward)
        put(out, "optimizer-in-backward\n");
    if (*run->treat)
        put(out, "treat %s\n", run->treat);
    if (run->adapter)
        put(out, "adapter %s\n", ms_adapter_text(arena, run->adapter));
    if (run->quantization.kind != MS_QUANTIZE_NONE)
        put(out, "quantize %s upcast %s\n", ms_quantization_text(arena, &run->quantization),
            run->upcast ? "yes" : "no");
    if (run->parallel.layout.kind != MS_PARALLEL_NONE)
        put(out, "parallel %s%s%s\n", ms_layout_text(arena, &run->parallel.layout),
            run->parallel.syncs_last_only ? " no-sync" : "",
            run->parallel.finds_unused ? " find-unused-parameters" : "");
    if (ms_layout_shards(&run->parallel.layout))
        put(out, "types shards %s load %s reductions %s\n",
            ms_dtype_info_of(run->parallel.shard_dtype)->short_name,
            ms_dtype_info_of(run->parallel.load_dtype)->short_name,
            ms_dtype_info_of(run->parallel.reduce_dtype)->short_name);
    if (run->budget_bytes != ms_device_usable_bytes(run->device))
        put(out, "budget %" PRIu64 "\n", run->budget_bytes);
    const ms_several_gpus *several = &run->several_gpus;
    if (several->text)
        put(out, "%s%s %s\n", several->is_ignored ? "ignored" : "copies",
            several->has_buckets ? " with buckets:" : ":", several->text);
}

static void write_notes(char *out, const char *label, const ms_notes *notes)
{
    for (uint32_t i = 0; i < notes->count; i++) {
        const char *text = notes->texts[i];
        /* The name of the folder says nothing. */
        if (strncmp(text, root, strlen(root)) == 0 && strrchr(text, '/'))
            text = strstr(text, "args.");
        put(out, "%s %s\n", label, text);
    }
}

static void write_keys(char *out, const ms_read_keys *keys)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        const ms_read_key *key = &keys->items[i];
        if (ms_key_is_left_out(key))
            put(out, "%s %s %s (line %" PRIu32 "): %s, %s\n", ms_key_reading_names[key->reading],
                key->key, key->value, key->line, ms_key_effect_names[key->effect], key->meaning);
    }
}

static void write_error(char *out, const ms_error *err)
{
    put(out, "%" PRIu32 ":%" PRIu32 "\n%s\n%s\n", err->line, err->column, err->pointer, err->text);
    for (const char *line = err->more; *line; line = strchr(line, '\n') + 1) {
        const char *name = strstr(line, "args.") ? strstr(line, "args.") : line;
        put(out, "%.*s\n", (int)strcspn(name, "\n"), name);
    }
}

/* UPDATE=1 rewrites what is expected; read the difference. */
static void rewrite_file(const char *folder, const char *name, const char *text)
{
    char path[160];
    if (!getenv("UPDATE"))
        return;
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void check_folder(void **state)
{
    const char *folder = *state;
    char path[160], expected[MAX_TEXT], found[MAX_TEXT] = "";
    flags f;
    ms_model_config model = {0};
    ms_run_config run = {0};
    ms_notes notes = {0};
    ms_error err = {0};
    static const char *const formats[] = {"yaml", "json", "toml"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        snprintf(path, sizeof path, "%s/%s/args.%s", root, folder, formats[i]);
        if (access(path, R_OK) == 0)
            break;
    }
    read_flags(folder, path, &f);
    ms_arena *arena = ms_arena_create(0);
    ms_status status = ms_run_load(arena, f.settings, f.count, &model, &run, &notes, &err);
    if (status == MS_OK) {
        write_run(found, arena, &run);
        write_notes(found, "note", &notes);
        write_notes(found, "left-out", &run.unsupported);
        write_keys(found, &run.keys);
    } else {
        assert_int_equal(ms_status_exit_code(err.status), 2);
        write_error(found, &err);
    }
    name_sentences(found);
    rewrite_file(folder, status == MS_OK ? "run" : "error", found);
    read_file(folder, status == MS_OK ? "run" : "error", expected, sizeof expected);
    assert_string_equal(found, expected);
    ms_arena_free(arena);
}

/* ---- folders ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

int main(void)
{
    static char names[MAX_CASES][MAX_NAME];
    static struct CMUnitTest tests[MAX_CASES + 1];
    size_t count = 0;
    DIR *dir = opendir(root);
    if (!dir || !read_sentences())
        return 1;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        if (count == MAX_CASES)
            return 1; /* none is left out without a word */
        snprintf(names[count++], MAX_NAME, "%.60s", entry->d_name);
    }
    closedir(dir);
    qsort(names, count, MAX_NAME, by_name);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){names[i], check_folder, NULL, NULL, names[i]};
    tests[count] = (struct CMUnitTest){"sentences", every_sentence_is_used, NULL, NULL, NULL};
    return _cmocka_run_group_tests("training arguments", tests, count + 1, NULL, NULL) ||
           count == 0;
}
