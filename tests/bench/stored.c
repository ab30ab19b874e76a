/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long the headers of a model of 1 TB take, 200 files of 1,000 tensors each, and how much
 * memory. Fails when they take longer than their limit, or more. The data are holes in the files.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "input/weights/stored_weights.h"

enum {
    FILES = 200,
    TENSORS = 1000, /* of a file */
    ROWS = 1280,
    COLUMNS = 2048, /* of a tensor, in bf16 */
    ROUNDS = 20,
    LIMIT_MS = 50, /* of the best round */
    LIMIT_MIB = 32
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- the model ---- */

static void name_tensor(char *name, size_t room, int number)
{
    snprintf(name, room, "model.layers.%d.mlp.experts.%d.gate_proj.weight", number / 2000,
             number % 2000);
}

static void name_file(char *name, size_t room, int number)
{
    snprintf(name, room, "model-%05d-of-%05d.safetensors", number + 1, FILES);
}

static bool write_file(int number)
{
    const uint64_t each = (uint64_t)2 * ROWS * COLUMNS;
    char file_name[64], *text = NULL;
    size_t length = 0;
    FILE *header = open_memstream(&text, &length);
    name_file(file_name, sizeof file_name, number);
    FILE *out = fopen(file_name, "wb");
    if (!header || !out)
        return false;
    fputs("{\"__metadata__\":{\"format\":\"pt\"}", header);
    for (int i = 0; i < TENSORS; i++) {
        char name[80];
        name_tensor(name, sizeof name, number * TENSORS + i);
        fprintf(header,
                ",\"%s\":{\"dtype\":\"BF16\",\"shape\":[%d,%d],\"data_offsets\":[%" PRIu64
                ",%" PRIu64 "]}",
                name, ROWS, COLUMNS, (uint64_t)i * each, (uint64_t)(i + 1) * each);
    }
    fputc('}', header);
    bool ok = fclose(header) == 0;
    for (int i = 0; i < MS_SAFETENSORS_LENGTH_BYTES; i++)
        fputc((int)(length >> (8 * i) & 0xff), out);
    fwrite(text, 1, length, out);
    ok =
        fflush(out) == 0 && ok &&
        ftruncate(fileno(out), (off_t)(MS_SAFETENSORS_LENGTH_BYTES + length + TENSORS * each)) == 0;
    free(text);
    return fclose(out) == 0 && ok;
}

static bool write_index(void)
{
    FILE *out = fopen("model.safetensors.index.json", "w");
    if (!out)
        return false;
    fputs("{\n  \"metadata\": {\n    \"total_size\": 1\n  },\n  \"weight_map\": {\n", out);
    for (int i = 0; i < FILES * TENSORS; i++) {
        char name[80], file[64];
        name_tensor(name, sizeof name, i);
        name_file(file, sizeof file, i / TENSORS);
        fprintf(out, "    \"%s\": \"%s\"%s\n", name, file, i + 1 < FILES * TENSORS ? "," : "");
    }
    fputs("  }\n}\n", out);
    return fclose(out) == 0;
}

static bool write_model(void)
{
    bool ok = true;
    for (int i = 0; i < FILES; i++)
        ok = ok && write_file(i);
    return ok && write_index();
}

static void remove_model(void)
{
    char name[64];
    for (int i = 0; i < FILES; i++) {
        name_file(name, sizeof name, i);
        remove(name);
    }
    remove("model.safetensors.index.json");
}

/* ---- reading it ---- */

static ms_status ignore(void *context, const char *file, const ms_safetensor *tensor, ms_error *err)
{
    (void)context, (void)file, (void)tensor, (void)err;
    return MS_OK;
}

/* Milliseconds; below 0: it failed. */
static double read_ms(ms_stored_weights *checkpoint)
{
    const ms_stored_weights_reader reader = {ignore, NULL};
    ms_error err = {.status = MS_OK};
    ms_arena *arena = ms_arena_create(0);
    double start = now_ms();
    ms_status status =
        arena ? ms_stored_weights_read(arena, ".", &reader, checkpoint, &err) : MS_ERR_NOMEM;
    double took = now_ms() - start;
    ms_arena_free(arena);
    if (status != MS_OK)
        fprintf(stderr, "bench: %s: %s\n", err.file, err.text);
    return status == MS_OK ? took : -1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool bench(void)
{
    ms_stored_weights checkpoint = {0};
    double times[ROUNDS];
    struct rusage used;
    for (int i = 0; i < ROUNDS; i++)
        times[i] = read_ms(&checkpoint);
    qsort(times, ROUNDS, sizeof *times, by_value);
    getrusage(RUSAGE_SELF, &used);
    double mib = (double)used.ru_maxrss / 1024;
    printf("\n%-26s %12s %12s %12s %12s %12s\n", "headers of weights", "files", "tensors",
           "best ms", "median ms", "peak MiB");
    printf("%.2f TB %-18s %12" PRIu32 " %12" PRIu64 " %12.1f %12.1f %12.1f\n",
           (double)checkpoint.tensor_bytes / 1e12, "", checkpoint.files, checkpoint.tensors,
           times[0], times[ROUNDS / 2], mib);
    bool is_good = times[0] >= 0 && times[0] <= LIMIT_MS && mib <= LIMIT_MIB;
    if (!is_good)
        printf("the limits are %d ms and %d MiB\n", (int)LIMIT_MS, (int)LIMIT_MIB);
    return is_good;
}

int main(void)
{
    char folder[] = "/tmp/memscope-bench-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return EXIT_FAILURE;
    pid_t child = fork(); /* what writes the files does not count */
    if (child == 0)
        _exit(write_model() ? EXIT_SUCCESS : EXIT_FAILURE);
    int status = 0;
    waitpid(child, &status, 0);
    bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS && bench();
    remove_model();
    if (chdir("/") == 0)
        rmdir(folder);
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
