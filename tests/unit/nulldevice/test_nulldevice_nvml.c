/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What engines and optimizers ask the null device: NVML, names of the driver's calls, where pinned
 * and managed memory is, and memory that their processes share.
 */
#include <stdio.h>
#include <string.h>

#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/runtime_types.h"
#include "unit/nulldevice.h"

enum { NVML_INVALID_ARGUMENT = 2, NVML_NOT_FOUND = 6, NVML_INSUFFICIENT_SIZE = 7 };

static void *handle(unsigned number)
{
    int (*find_device)(unsigned, void **);
    void *device = NULL;
    find("nvmlDeviceGetHandleByIndex_v2", &find_device);
    assert_int_equal(find_device(number, &device), OK);
    return device;
}

static void devices_have_names_of_their_own(void **state)
{
    int (*find_device)(unsigned, void **), (*by_bus)(const char *, void **);
    int (*by_uuid)(const char *, void **), (*uuid_of)(void *, char *, unsigned);
    int (*name_of)(void *, char *, unsigned), (*index_of)(void *, unsigned *);
    char text[96];
    void *found = NULL;
    unsigned number = 9;
    (void)state;
    find("nvmlDeviceGetHandleByIndex_v2", &find_device);
    find("nvmlDeviceGetHandleByPciBusId_v2", &by_bus);
    find("nvmlDeviceGetHandleByUUID", &by_uuid);
    find("nvmlDeviceGetUUID", &uuid_of);
    find("nvmlDeviceGetName", &name_of);
    find("nvmlDeviceGetIndex", &index_of);
    assert_ptr_not_equal(handle(0), handle(1));
    assert_int_equal(find_device(2, &found), NVML_INVALID_ARGUMENT);
    assert_int_equal(by_bus("0000:02:00.0", &found), OK);
    assert_ptr_equal(found, handle(1));
    assert_int_equal(by_bus("0000:03:00.0", &found), NVML_NOT_FOUND);
    assert_int_equal(uuid_of(handle(1), text, sizeof text), OK);
    assert_int_equal(by_uuid(text, &found), OK);
    assert_ptr_equal(found, handle(1));
    assert_int_equal(by_uuid("GPU-0", &found), NVML_NOT_FOUND);
    assert_int_equal(index_of(handle(1), &number), OK);
    assert_int_equal(number, 1);
    assert_int_equal(name_of(handle(0), text, sizeof text), OK);
    assert_string_equal(text, "A device");
    assert_int_equal(name_of(handle(0), text, 8), NVML_INSUFFICIENT_SIZE);
    assert_int_equal(name_of(&number, text, sizeof text), NVML_INVALID_ARGUMENT);
}

/* NVML's total is the driver's, CUDA's is less; what is free is the same. */
static void memory_is_the_drivers(void **state)
{
    struct {
        unsigned long long total, free, used;
    } m;
    struct {
        unsigned version;
        unsigned long long total, reserved, free, used;
    } apart;
    int (*memory_of)(void *, void *), (*memory_apart)(void *, void *);
    int (*allocate)(void **, size_t), (*release)(void *);
    void *a = NULL;
    (void)state;
    find("nvmlDeviceGetMemoryInfo", &memory_of);
    find("nvmlDeviceGetMemoryInfo_v2", &memory_apart);
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    assert_int_equal(allocate(&a, 4 * MIB), OK);
    assert_int_equal(memory_of(handle(0), &m), OK);
    assert_int_equal(m.total, TOTAL_BYTES + MIB);
    assert_int_equal(m.free, TOTAL_BYTES - 4 * MIB);
    assert_int_equal(m.used, 5 * MIB);
    assert_int_equal(memory_apart(handle(0), &apart), OK);
    assert_int_equal(apart.total, TOTAL_BYTES + MIB);
    assert_int_equal(apart.reserved, MIB);
    assert_int_equal(apart.used, 4 * MIB);
    assert_int_equal(memory_of(handle(1), &m), OK);
    assert_int_equal(m.free, TOTAL_BYTES);
    release(a);
}

static void capability_is_that_of_cuda(void **state)
{
    int (*ask)(void *, int *, int *), major = 0, minor = 0;
    (void)state;
    find("nvmlDeviceGetCudaComputeCapability", &ask);
    assert_int_equal(ask(handle(0), &major, &minor), OK);
    assert_int_equal(10 * major + minor, 89);
}

/* A name that is absent is told, not complained of. */
static void calls_are_found_by_name(void **state)
{
    int (*ask)(const char *, void **, int, unsigned long long, int *);
    int (*runtime)(const char *, void **, unsigned, unsigned long long, int *);
    void *function = NULL;
    int found = 7, (*version_of)(int *), version = 0;
    (void)state;
    find("cuDriverGetVersion", &version_of);
    assert_int_equal(version_of(&version), OK);
    assert_int_equal(version, 13000);
    find("cuGetProcAddress_v2", &ask);
    find("cudaGetDriverEntryPointByVersion", &runtime);
    assert_int_equal(ask("cuNoSuchCall", &function, 13000, 0, &found), OK);
    assert_int_equal(found, 1);
    assert_null(function);
    assert_int_equal(runtime("cuNoSuchCall", &function, 13000, 0, &found), OK);
    assert_int_equal(found, 1);
    assert_int_equal(ask("cuNoSuchCall", &function, 13000, 0, NULL), MS_NULL_NOT_FOUND);
}

/* The device reads pinned memory at the host's address. */
static void pinned_memory_belongs_to_the_current_device(void **state)
{
    int (*pin)(void **, size_t), (*unpin)(void *), (*ask)(ms_null_pointer *, const void *);
    ms_null_pointer p;
    void *a = NULL;
    (void)state;
    find("cudaHostAlloc", &pin);
    find("cudaFreeHost", &unpin);
    find("cudaPointerGetAttributes", &ask);
    assert_int_equal(pin(&a, MIB), OK);
    assert_int_equal(ask(&p, a), OK);
    assert_int_equal(p.type, MS_NULL_HOST);
    assert_int_equal(p.device, 0);
    assert_ptr_equal(p.device_pointer, a);
    assert_ptr_equal(p.host_pointer, a);
    unpin(a);
    assert_int_equal(ask(&p, &a), OK);
    assert_int_equal(p.type, MS_NULL_UNREGISTERED);
    assert_null(p.device_pointer);
}

/* The host writes there, a large copy leaves it alone, and it may exceed the device. */
static void managed_memory_is_the_hosts(void **state)
{
    int (*manage)(void **, size_t, unsigned), (*release)(void *),
        (*ask)(ms_null_pointer *, const void *);
    int (*about)(void *, int, const void *), (*room)(size_t *, size_t *);
    int (*copy)(void *, const void *, size_t, int), (*fill)(void *, int, size_t);
    uint64_t (*most)(void);
    ms_null_pointer p;
    void *a = NULL, *b = NULL;
    size_t before = 0, after = 0, total = 0;
    unsigned is_managed = 0, kind = 0;
    (void)state;
    find("cudaMallocManaged", &manage);
    find("cudaFree", &release);
    find("cudaPointerGetAttributes", &ask);
    find("cuPointerGetAttribute", &about);
    find("cudaMemGetInfo", &room);
    find("cudaMemcpy", &copy);
    find("cudaMemset", &fill);
    find("memscope_null_managed_bytes", &most);
    assert_int_equal(room(&before, &total), OK);
    assert_int_equal(most(), 0);
    assert_int_equal(manage(&a, 0, 1), MS_NULL_INVALID_VALUE);
    assert_int_equal(manage(&a, 2 * total + 1, 1), OK);
    assert_int_equal(manage(&b, 5, 1), OK);
    assert_int_equal(most(), 2 * total + 4 * MIB);
    assert_int_equal(room(&after, &total), OK);
    assert_int_equal(after, before);
    memcpy(b, "four", 5);
    assert_int_equal(copy(a, b, 5, 4), OK);
    assert_string_equal(a, "four");
    assert_int_equal(fill(b, 0, 5), OK);
    assert_string_equal(b, "");
    assert_int_equal(fill(a, 1, 2 * total), OK);
    assert_string_equal(a, "four");
    assert_int_equal(ask(&p, (char *)a + total), OK);
    assert_int_equal(p.type, MS_NULL_MANAGED);
    assert_int_equal(p.device, 0);
    assert_int_equal(about(&is_managed, 8, a), OK);
    assert_int_equal(is_managed, 1);
    assert_int_equal(about(&kind, 2, a), OK);
    assert_int_equal(kind, 2);
    assert_int_equal(release(a), OK);
    assert_int_equal(release(b), OK);
    assert_int_equal(ask(&p, a), OK);
    assert_int_equal(p.type, MS_NULL_UNREGISTERED);
    assert_int_equal(most(), 2 * total + 4 * MIB);
}

typedef struct shared_memory {
    char reserved[64];
} shared_memory;

/* An address of its own, on the same device, that takes no memory. */
static void memory_of_other_processes_is_opened(void **state)
{
    int (*allocate)(void **, size_t), (*release)(void *), (*close_it)(void *);
    int (*share)(shared_memory *, void *), (*open_it)(void **, shared_memory, unsigned);
    int (*ask)(ms_null_pointer *, const void *), (*room)(size_t *, size_t *);
    shared_memory handle;
    ms_null_pointer p;
    void *a = NULL, *opened = NULL;
    size_t before = 0, after = 0, total = 0;
    (void)state;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cudaIpcGetMemHandle", &share);
    find("cudaIpcOpenMemHandle", &open_it);
    find("cudaIpcCloseMemHandle", &close_it);
    find("cudaPointerGetAttributes", &ask);
    find("cudaMemGetInfo", &room);
    assert_int_equal(allocate(&a, MIB), OK);
    assert_int_equal(room(&before, &total), OK);
    assert_int_equal(share(&handle, a), OK);
    assert_int_equal(share(&handle, &a), MS_NULL_INVALID_VALUE);
    assert_int_equal(open_it(&opened, handle, 1), OK);
    assert_ptr_not_equal(opened, a);
    assert_int_equal(ask(&p, opened), OK);
    assert_int_equal(p.type, MS_NULL_DEVICE);
    assert_int_equal(p.device, 0);
    assert_int_equal(room(&after, &total), OK);
    assert_int_equal(after, before);
    assert_int_equal(close_it(opened), OK);
    memset(&handle, 0x7f, sizeof handle);
    assert_int_equal(open_it(&opened, handle, 1), MS_NULL_INVALID_DEVICE);
    release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_have_names_of_their_own),
        cmocka_unit_test(memory_is_the_drivers),
        cmocka_unit_test(capability_is_that_of_cuda),
        cmocka_unit_test(calls_are_found_by_name),
        cmocka_unit_test(pinned_memory_belongs_to_the_current_device),
        cmocka_unit_test(managed_memory_is_the_hosts),
        cmocka_unit_test(memory_of_other_processes_is_opened),
    };
    return cmocka_run_group_tests(tests, open_library, NULL);
}
