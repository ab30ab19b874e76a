/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for RTLD_DEFAULT; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "hardware/replay/cuda/cuda_library.h"

#include <dlfcn.h>
#include <string.h>

typedef struct function {
    const char *name;
    size_t offset;
} function;

#define ROW(type, member, name, parameters) {#name, offsetof(ms_cuda, member)},
static const function runtime[] = {MS_CUDA_RUNTIME_LIST(ROW)};
static const function driver[] = {MS_CUDA_DRIVER_LIST(ROW)};
static const function products[] = {MS_CUBLAS_LIST(ROW)};

enum { MOST_FILES = 4 };
typedef struct library {
    const char *title;
    const char *files[MOST_FILES]; /* newest first; ends with NULL */
    const function *functions;
    size_t count;
} library;

#define FUNCTIONS(rows) rows, sizeof(rows) / sizeof(rows)[0]
static const library libraries[] = {
    {"CUDA's driver", {"libcuda.so.1", NULL}, FUNCTIONS(driver)},
    {"CUDA's runtime",
     {"libcudart.so.13", "libcudart.so.12", "libcudart.so", NULL},
     FUNCTIONS(runtime)},
    {"cuBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL}, FUNCTIONS(products)},
};
enum { LIBRARIES = sizeof libraries / sizeof libraries[0] };

static const char null_device[] = "memscope_null_listen"; /* which no other library has */

static void *open_file(const library *l)
{
    void *handle = NULL;
    for (size_t i = 0; l->files[i] && !handle; i++)
        handle = dlopen(l->files[i], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

static ms_status find_functions(const library *l, void *handle, ms_cuda *cuda, ms_error *err)
{
    for (size_t i = 0; i < l->count; i++) {
        void *found = dlsym(handle, l->functions[i].name);
        if (!found)
            return ms_fail(err, MS_ERR_IO, "%s has no function %s: it is too old", l->title,
                           l->functions[i].name);
        memcpy((char *)cuda + l->functions[i].offset, &found, sizeof found);
    }
    return MS_OK;
}

ms_status ms_replay_cuda_load(const char *path, ms_cuda *cuda, ms_error *err)
{
    bool is_there = !path && dlsym(RTLD_DEFAULT, null_device); /* another may have only a part */
    void *all = is_there ? RTLD_DEFAULT : path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    *cuda = (ms_cuda){0};
    if (path && !all)
        return ms_fail(err, MS_ERR_IO, "%.200s cannot be loaded", path);
    for (size_t i = 0; i < LIBRARIES; i++) {
        void *handle = is_there || all ? all : open_file(&libraries[i]);
        if (!is_there && !handle)
            return ms_fail(err, MS_ERR_IO, "%s (%s) is not installed", libraries[i].title,
                           libraries[i].files[0]);
        ms_status status = find_functions(&libraries[i], handle, cuda, err);
        if (status != MS_OK)
            return status;
    }
    cuda->is_null = (is_there || all) && dlsym(all, null_device);
    return MS_OK;
}
