/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long an analysis takes and how much memory it uses itself. Fails when an analysis takes
 * longer than its limit.
 */
#include "memscope/memscope.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/allocator/allocator.h"

enum { ROUNDS = 20, LIMIT_MS = 50 /* of the best round in this process */ };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

typedef struct spread {
    double best, median;
} spread;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Best and median of `rounds` calls; a call that fails yields a negative time. */
static spread measure(double (*call)(const void *), const void *argument, int rounds)
{
    double times[ROUNDS];
    for (int i = 0; i < rounds; i++)
        times[i] = call(argument);
    qsort(times, (size_t)rounds, sizeof *times, by_value);
    return (spread){times[0], times[rounds / 2]};
}

/* ---- analyses in this process ---- */

typedef struct setting {
    const char *field, *value;
} setting;

static const setting usual[] = {
    {"batch", "1"},         {"seq", "4096"},
    {"optimizer", "adamw"}, {"optimizer-impl", "fused"},
    {"allocator", "cuda"},  {"device", "h100-80gb"},
};

static ms_run *run_of(const char *config)
{
    ms_error err = {0};
    ms_run *run = ms_run_create();
    if (!run)
        return NULL;
    bool good = ms_run_set(run, "config", config, &err) == MS_OK;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        good = good && ms_run_set(run, usual[i].field, usual[i].value, &err) == MS_OK;
    if (!good) {
        fprintf(stderr, "bench: %s\n", err.text);
        ms_run_free(run);
        return NULL;
    }
    return run;
}

static double analyze_ms(const void *config)
{
    ms_error err = {0};
    ms_run *run = run_of(config);
    if (!run)
        return -1;
    double start = now_ms();
    ms_analysis *analysis = ms_analyze(run, &err);
    double took = now_ms() - start;
    if (!analysis)
        fprintf(stderr, "bench: %s: %s\n", (const char *)config, err.text);
    bool good = analysis != NULL;
    ms_analysis_free(analysis);
    ms_run_free(run);
    return good ? took : -1;
}

/* Peak resident memory of a process that analyzes once. */
static double peak_rss_mib(const char *config)
{
    int ends[2];
    long peak_kib = 0;
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        struct rusage used;
        (void)analyze_ms(config);
        getrusage(RUSAGE_SELF, &used);
        _exit(write(ends[1], &used.ru_maxrss, sizeof used.ru_maxrss) < 0);
    }
    close(ends[1]);
    bool good = child > 0 && read(ends[0], &peak_kib, sizeof peak_kib) == (ssize_t)sizeof peak_kib;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return good ? (double)peak_kib / 1024 : -1;
}

/* ---- the whole command ---- */

/* The program with these words for arguments; what it prints goes nowhere. */
static double run_ms(const void *words)
{
    enum { MOST_ARGUMENTS = 24 };
    char name[] = "memscope", text[512], *arguments[MOST_ARGUMENTS + 2] = {name};
    const char *binary = getenv("MEMSCOPE");
    int count = 1;
    snprintf(text, sizeof text, "%s", (const char *)words);
    for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
        if (count <= MOST_ARGUMENTS)
            arguments[count++] = word;
    double start = now_ms();
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execv(binary ? binary : "build/release/memscope", arguments);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    double took = now_ms() - start;
    return WIFEXITED(status) && WEXITSTATUS(status) <= 1 ? took : -1;
}

static double command_ms(const void *config)
{
    char words[384];
    snprintf(words, sizeof words,
             "analyze --config %s --batch 1 --seq 4096 --device h100-80gb --format json -o -",
             (const char *)config);
    return run_ms(words);
}

static bool bench_models(void)
{
    static const char *const models[] = {"llama-3.2-1b", "llama-3.1-8b", "llama-3.1-405b",
                                         "deepseek-v3"};
    bool good = true;
    printf("\nbatch 1, seq 4096, fused AdamW, caching allocator; %d rounds\n\n", (int)ROUNDS);
    printf("%-18s %12s %12s %12s %16s %16s\n", "model", "best ms", "median ms", "peak MiB",
           "command best ms", "command median");
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        double rss_mib = peak_rss_mib(models[i]); /* before this process grows */
        spread in_process = measure(analyze_ms, models[i], ROUNDS);
        spread command = measure(command_ms, models[i], ROUNDS);
        printf("%-18s %12.2f %12.2f %12.1f %16.2f %16.2f\n", models[i], in_process.best,
               in_process.median, rss_mib, command.best, command.median);
        if (in_process.best < 0 || in_process.best > LIMIT_MS) {
            printf("%s: the limit is %d ms\n", models[i], (int)LIMIT_MS);
            good = false;
        }
    }
    return good;
}

/* ---- advice and plans ---- */

static void bench_advice_and_plans(void)
{
    static const char *const commands[] = {
        "analyze llama-3.1-8b --device rtx-4090",
        "analyze llama-3.1-8b --device rtx-4090 --seq 4096",
        "analyze llama-3.1-8b --device a100-40gb --seq 8192 --batch 4",
        "analyze llama-3.1-8b --device rtx-4090 --dtype fp32 --autocast bf16 --batch 8",
        "analyze gemma-2-9b --device rtx-4090 --seq 4096",
        "plan -q llama-3.2-1b --batch 4 --budget 18GiB",
        "plan -q llama-3.1-8b --batch 2 --budget 70GiB",
        "plan -q llama-3.1-8b --batch 2 --budget 66GiB",
        "plan -q qwen3-8b --batch 4 --device h200 --budget 100GiB",
        "plan -q llama-3.1-8b --batch 2 --curve",
        "plan -q llama-3.1-405b --batch 1 --device h200 --budget 3040GiB",
        "plan -q llama-3.1-405b --batch 8 --device h200 --curve",
    };
    enum { FEW_ROUNDS = 5 };
    printf("\n%-80s %12s %12s\n", "whole command", "best ms", "median ms");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        spread s = measure(run_ms, commands[i], FEW_ROUNDS);
        printf("%-80s %12.1f %12.1f\n", commands[i], s.best, s.median);
    }
}

/* ---- sweeps ---- */

typedef struct cost {
    double ms, user_ms, peak_mib; /* user: of all threads, whatever else the machine does */
} cost;

/* The program with these words, in a process of its own so that no other child counts. */
static cost cost_of(const char *words)
{
    int ends[2];
    cost found = {.ms = -1};
    if (pipe(ends) != 0)
        return found;
    pid_t child = fork();
    if (child == 0) {
        struct rusage used;
        found.ms = run_ms(words);
        getrusage(RUSAGE_CHILDREN, &used);
        found.user_ms = (double)used.ru_utime.tv_sec * 1e3 + (double)used.ru_utime.tv_usec / 1e3;
        found.peak_mib = (double)used.ru_maxrss / 1024;
        _exit(write(ends[1], &found, sizeof found) < 0);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &found, sizeof found) != (ssize_t)sizeof found)
        found.ms = -1;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return found;
}

static void bench_sweeps(void)
{
    static const struct {
        int points;
        const char *seq;
    } sweeps[] = {{1000, "64:3200:+64"}, {10000, "64:32000:+64"}};
    printf("%-18s %12s %12s %12s %12s %12s\n", "sweep of points", "threads", "seconds", "points/s",
           "user seconds", "peak MiB");
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++)
        for (int jobs = 1; jobs <= 2; jobs++) {
            char words[160];
            snprintf(words, sizeof words,
                     "sweep -q llama-3.1-8b --batch 1:10 --seq %s --checkpointing none,all -j %d",
                     sweeps[i].seq, jobs);
            cost c = cost_of(words);
            printf("%-18d %12d %12.2f %12.0f %12.2f %12.1f\n", sweeps[i].points, jobs, c.ms / 1e3,
                   sweeps[i].points / c.ms * 1e3, c.user_ms / 1e3, c.peak_mib);
        }
}

/* ---- growth with the number of keys ---- */

#define MODEL                                                                                      \
    "\"model_type\": \"llama\", \"vocab_size\": 128, \"hidden_size\": 64, "                        \
    "\"intermediate_size\": 128, \"num_attention_heads\": 4, \"num_hidden_layers\": 2"

/* Files whose %d stands for a number from 0 on, and what reads them. */
static const struct keys_row {
    const char *label, *file, *head, *each, *tail, *words;
} keys_rows[] = {
    {"unknown keys, JSON", "config.json", "{" MODEL, ",\n\"unknown_key_%d\": 1", "}\n",
     "analyze -q config.json --batch 1 --seq 16"},
    {"unknown keys, one line", "config.json", "{" MODEL, ", \"unknown_key_%d\": 1", "}\n",
     "analyze -q config.json --batch 1 --seq 16"},
    {"misspelt keys, JSON", "config.json", "{" MODEL, ",\n\"rope_thet%d\": 1", "}\n",
     "analyze -q config.json --batch 1 --seq 16"},
    {"unknown keys, YAML", "train.yaml", "bf16: true\n", "k%d: 1\n", "",
     "analyze -q gpt2 --seq 16 --training-args train.yaml"},
    {"rank_pattern", "adapter.json",
     "{\"peft_type\": \"LORA\", \"target_modules\": [\"q_proj\"], \"rank_pattern\": {\"k_proj\": 1",
     ",\n\"model.layers.%d.self_attn.q_proj\": 4", "}}\n",
     "analyze -q smollm2-135m --batch 1 --seq 16 --adapter adapter.json"},
    {"target_modules", "adapter.json", "{\"peft_type\": \"LORA\", \"target_modules\": [\"k_proj\"",
     ",\n\"layers.%d.self_attn.q_proj\"", "]}\n",
     "analyze -q smollm2-135m --batch 1 --seq 16 --adapter adapter.json"},
    {"skipped modules", "config.json",
     "{" MODEL ", \"quantization_config\": {\"quant_method\": \"bitsandbytes\", \"load_in_8bit\": "
     "true, \"llm_int8_skip_modules\": [\"lm_head\"",
     ",\n\"model.layers.%d.mlp\"", "]}}\n", "analyze -q config.json --batch 1 --seq 16 --lora r=4"},
    {"budgets, last refused", "b.json", "{\"budgets\": [{\"name\": \"0\", \"run\": {}}",
     ",\n{\"name\": \"b%d\", \"run\": {\"model\": \"gpt2\"}, \"limits\": {\"max\": \"1 GiB\"}}",
     ", {}]}\n", "check --budgets b.json"},
};

static bool write_keys(const struct keys_row *row, int count)
{
    FILE *out = fopen(row->file, "w");
    if (!out)
        return false;
    fputs(row->head, out);
    for (int i = 0; i < count; i++) {
        const char *number = strstr(row->each, "%d");
        fprintf(out, "%.*s%d%s", (int)(number - row->each), row->each, i, number + 2);
    }
    fputs(row->tail, out);
    return fclose(out) == 0;
}

/* Of the command as a whole; the last file is refused once all of it has been read. */
static void bench_keys(void)
{
    char folder[] = "/tmp/memscope-bench-XXXXXX", *top = getcwd(NULL, 0);
    char binary[4096];
    const char *given = getenv("MEMSCOPE");
    snprintf(binary, sizeof binary, "%s/build/release/memscope", top ? top : ".");
    if (!given)
        setenv("MEMSCOPE", binary, 1);
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return;
    printf("\n%-26s %12s %12s %12s %12s\n", "keys", "number", "ms", "us per key", "peak MiB");
    for (size_t i = 0; i < sizeof keys_rows / sizeof keys_rows[0]; i++)
        for (int count = 10000; count <= 100000; count *= 10) {
            cost c = {.ms = -1};
            int told = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY); /* the refusals */
            dup2(null, STDERR_FILENO);
            if (write_keys(&keys_rows[i], count))
                c = cost_of(keys_rows[i].words);
            dup2(told, STDERR_FILENO);
            close(told);
            close(null);
            printf("%-26s %12d %12.1f %12.2f %12.1f\n", keys_rows[i].label, count, c.user_ms,
                   c.user_ms * 1e3 / count, c.peak_mib);
            remove(keys_rows[i].file);
        }
    if (!top || chdir(top) != 0)
        return;
    rmdir(folder);
    free(top);
}

/* ---- growth with the number of layers ---- */

static bool write_config(const char *path, int layers)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return false;
    fprintf(out,
            "{\"model_type\": \"llama\", \"vocab_size\": 128256, \"hidden_size\": 4096,\n"
            " \"intermediate_size\": 14336, \"num_attention_heads\": 32,\n"
            " \"num_key_value_heads\": 8, \"num_hidden_layers\": %d}\n",
            layers);
    return fclose(out) == 0;
}

static void bench_layers(void)
{
    char folder[] = "/tmp/memscope-bench-XXXXXX", path[64];
    if (!mkdtemp(folder))
        return;
    snprintf(path, sizeof path, "%s/config.json", folder);
    printf("\n%-18s %12s %12s %12s\n", "layers", "best ms", "us per layer", "peak MiB");
    for (int layers = 16; layers <= 4096; layers *= 2) {
        if (!write_config(path, layers))
            break;
        double rss_mib = peak_rss_mib(path);
        spread s = measure(analyze_ms, path, layers > 512 ? 5 : ROUNDS);
        printf("%-18d %12.2f %12.2f %12.1f\n", layers, s.best, s.best * 1e3 / layers, rss_mib);
    }
    remove(path);
    rmdir(folder);
}

/* ---- the allocator alone ---- */

typedef struct churn {
    const char *label;
    ms_allocator_kind kind;
    uint32_t live;      /* blocks kept at a time */
    uint32_t max_units; /* sizes up to this many times 512 bytes */
} churn;

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Nanoseconds for one allocation and one release. */
static double churn_ns(const void *argument)
{
    enum { PAIRS = 200000 };
    const churn *c = argument;
    ms_allocator_options options = {.kind = c->kind};
    ms_allocator *allocator = ms_allocator_create(&options);
    ms_block *blocks = calloc(c->live, sizeof *blocks);
    double took = -1;
    if (allocator && blocks) {
        uint32_t random = 1;
        double start = now_ms();
        for (uint32_t i = 0; i < PAIRS; i++) {
            ms_block *at = &blocks[next_random(&random) % c->live];
            uint64_t bytes = (UINT64_C(1) + next_random(&random) % c->max_units) * 512;
            ms_allocator_release(allocator, *at);
            (void)ms_allocator_allocate(allocator, bytes, 0, at);
        }
        took = (now_ms() - start) * 1e6 / PAIRS;
    }
    free(blocks);
    ms_allocator_free(allocator);
    return took;
}

static void bench_allocator(void)
{
    static const churn rows[] = {
        {"raw", MS_ALLOCATOR_RAW, 300, 65536},
        {"cuda, 30 blocks", MS_ALLOCATOR_CUDA, 30, 65536},
        {"cuda, 300 blocks", MS_ALLOCATOR_CUDA, 300, 65536},
        {"cuda, 3,000 blocks", MS_ALLOCATOR_CUDA, 3000, 65536},
        {"cuda, 100,000", MS_ALLOCATOR_CUDA, 100000, 2048},
        {"expandable, 300", MS_ALLOCATOR_CUDA_EXPANDABLE, 300, 65536},
        {"expandable, 3,000", MS_ALLOCATOR_CUDA_EXPANDABLE, 3000, 65536},
    };
    printf("\n%-18s %12s %12s\n", "allocator", "best ns", "median ns");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spread s = measure(churn_ns, &rows[i], 5);
        printf("%-18s %12.1f %12.1f\n", rows[i].label, s.best, s.median);
    }
    printf("one allocation and one release, random order and sizes\n");
}

int main(void)
{
    bench_sweeps(); /* before this process grows: a child begins as large */
    bool good = bench_models();
    bench_advice_and_plans();
    bench_keys();
    bench_layers();
    bench_allocator();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
