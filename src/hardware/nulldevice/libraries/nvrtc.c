/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NVRTC: kernels that PyTorch compiles at run time. They are neither compiled nor run: the code of
 * each is empty. PyTorch must not cache them (USE_PYTORCH_KERNEL_CACHE=0).
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "hardware/nulldevice/nulldevice.h"

/* PyTorch opens it by name, from a folder that it knows before any in the environment. A name that
 * is already open comes first: this library is beside itself under those names. */
__attribute__((constructor)) static void take_names(void)
{
    static const char *const names[] = {"libnvrtc.so.12", "libnvrtc.so.13"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && getenv("MEMSCOPE_NULL_DEVICE"); i++)
        dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
}

enum { NVRTC_MAJOR = 13, CODE_BYTES = 1 };

MS_NULL_CALL(int, nvrtcVersion, (int *major, int *minor))
{
    *major = NVRTC_MAJOR;
    *minor = 0;
    return MS_NULL_OK;
}

/* Only the device that is there is compiled for. */
MS_NULL_CALL(int, nvrtcGetNumSupportedArchs, (int *count))
{
    *count = 1;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, nvrtcGetSupportedArchs, (int *capabilities))
{
    *capabilities = ms_null_device_get()->capability;
    return MS_NULL_OK;
}

MS_NULL_MAKES(nvrtcCreateProgram)

MS_NULL_CALL(int, nvrtcDestroyProgram, (void **program))
{
    *program = NULL;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, nvrtcGetLoweredName, (void *program, const char *name, const char **lowered))
{
    (void)program;
    *lowered = name;
    return MS_NULL_OK;
}

static int size_of_code(size_t *bytes)
{
    *bytes = CODE_BYTES;
    return MS_NULL_OK;
}

static int code(char *to)
{
    *to = '\0';
    return MS_NULL_OK;
}

/* clang-format off */
#define SIZE(name) MS_NULL_CALL(int, name, (void *program, size_t *bytes)) { (void)program; return size_of_code(bytes); }
SIZE(nvrtcGetCUBINSize) SIZE(nvrtcGetPTXSize) SIZE(nvrtcGetProgramLogSize)
#define CODE(name) MS_NULL_CALL(int, name, (void *program, char *to)) { (void)program; return code(to); }
CODE(nvrtcGetCUBIN) CODE(nvrtcGetPTX) CODE(nvrtcGetProgramLog)
    /* clang-format on */

    MS_NULL_SUCCEEDS(nvrtcAddNameExpression) MS_NULL_SUCCEEDS(nvrtcCompileProgram)

        MS_NULL_CALL(const char *, nvrtcGetErrorString, (int error))
{
    return error == MS_NULL_OK ? "NVRTC_SUCCESS" : "NVRTC_ERROR";
}
