/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the null device tells of programs without PyTorch, and the memory that their pools map.
 */
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hardware/nulldevice/nulldevice.h"
#include "unit/nulldevice.h"

enum { OUT_OF_MEMORY = 2, LINE_BYTES = 8192 };

static int (*allocate)(void **, size_t), (*release)(void *);

static size_t free_bytes(void)
{
    int (*info)(size_t *, size_t *);
    size_t rest = 0, total = 0;
    find("cudaMemGetInfo", &info);
    assert_int_equal(info(&rest, &total), OK);
    return rest;
}

/* As ggml's pools do: the handle is released as soon as it is mapped. */
static void memory_stays_while_it_is_held_or_mapped(void **state)
{
    int (*reserve)(void **, size_t, size_t, size_t, unsigned long long);
    int (*create)(unsigned long long *, size_t, const int *, unsigned long long);
    int (*map)(void *, size_t, size_t, unsigned long long, unsigned long long);
    int (*unmap)(void *, size_t), (*let_go)(unsigned long long), (*unreserve)(void *, size_t);
    const int where[] = {1, 0, 1, 0, 0, 0, 0, 0};
    unsigned long long first = 0, second = 0;
    char *address = NULL;
    (void)state;
    find("cuMemAddressReserve", &reserve);
    find("cuMemCreate", &create);
    find("cuMemMap", &map);
    find("cuMemUnmap", &unmap);
    find("cuMemRelease", &let_go);
    find("cuMemAddressFree", &unreserve);
    assert_int_equal(reserve((void **)&address, 1024 * MIB, 0, 0, 0), OK);
    assert_int_equal(create(&first, 8 * MIB, where, 0), OK);
    assert_int_equal(map(address, 8 * MIB, 0, first, 0), OK);
    assert_int_equal(let_go(first), OK);
    assert_int_equal(free_bytes(), TOTAL_BYTES - 8 * MIB);
    assert_int_equal(create(&second, 4 * MIB, where, 0), OK);
    assert_int_equal(map(address + 8 * MIB, 4 * MIB, 0, second, 0), OK);
    assert_int_equal(unmap(address, 12 * MIB), OK);
    assert_int_equal(free_bytes(), TOTAL_BYTES - 4 * MIB);
    assert_int_equal(let_go(second), OK);
    assert_int_equal(free_bytes(), TOTAL_BYTES);
    assert_int_not_equal(map(address, 8 * MIB, 0, first, 0), OK);
    unreserve(address, 1024 * MIB);
}

/* The n-th line of the ledger, from 0; "" past the last. */
static const char *line_of(int number)
{
    static char line[LINE_BYTES];
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld.ledger", getenv("MEMSCOPE_CAPTURE_DIR"), (long)getpid());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int i = 0; i <= number; i++)
        if (!fgets(line, sizeof line, file))
            line[0] = '\0';
    fclose(file);
    return line;
}

static void begins_with(const char *line, const char *beginning)
{
    if (strncmp(line, beginning, strlen(beginning)) != 0)
        fail_msg("found '%s', expected '%s...'", line, beginning);
}

/* The symbol of a program's own function is in its table only. */
__attribute__((noinline)) static void *ledger_test_asks(size_t bytes)
{
    void *address = NULL;
    int code = allocate(&address, bytes);
    return code == OK ? address : NULL;
}

static void allocations_are_told_with_who_asked(void **state)
{
    int (*pin)(void **, size_t), (*unpin)(void *), (*use)(void *, void *, size_t);
    char expected[256];
    void *a = NULL, *host = NULL;
    (void)state;
    find("cudaMallocHost", &pin);
    find("cudaFreeHost", &unpin);
    find("cublasSetWorkspace_v2", &use);
    a = ledger_test_asks(5);
    assert_non_null(a);
    snprintf(expected, sizeof expected, "+ d 0 %" PRIuPTR " 5 2097152 ", (uintptr_t)a);
    begins_with(line_of(0), expected);
    assert_non_null(strstr(line_of(0), " ledger_test_asks "));
    use(NULL, a, 5);
    snprintf(expected, sizeof expected, "w %" PRIuPTR "\n", (uintptr_t)a);
    begins_with(line_of(1), expected);
    release(a);
    snprintf(expected, sizeof expected, "- d 0 %" PRIuPTR "\n", (uintptr_t)a);
    begins_with(line_of(2), expected);
    assert_null(ledger_test_asks(65 * MIB));
    begins_with(line_of(3), "! d 0 68157440\n");
    assert_int_equal(pin(&host, 4097), OK);
    snprintf(expected, sizeof expected, "+ h 0 %" PRIuPTR " 4097 8192 ", (uintptr_t)host);
    begins_with(line_of(4), expected);
    unpin(host);
    begins_with(line_of(5), "- h 0 ");
}

/* Answered calls are told once. */
static void the_drivers_pools_are_told(void **state)
{
    int (*from_pool)(void **, size_t, void *), (*to_pool)(void *, void *), (*make)(void **, void *);
    void *a = NULL, *b = NULL, *made = NULL;
    (void)state;
    find("cudaMallocAsync", &from_pool);
    find("cudaFreeAsync", &to_pool);
    find("cudaMemPoolCreate", &make);
    assert_int_equal(from_pool(&a, 5, NULL), OK);
    begins_with(line_of(6), "p a cudaMallocAsync\n");
    begins_with(line_of(7), "+ d 0 ");
    assert_int_equal(from_pool(&b, 5, NULL), OK);
    begins_with(line_of(8), "+ d 0 ");
    assert_int_equal(to_pool(a, NULL), OK);
    assert_int_equal(to_pool(b, NULL), OK);
    assert_int_equal(free_bytes(), TOTAL_BYTES);
    assert_int_equal(make(&made, NULL), MS_NULL_NOT_SUPPORTED);
    begins_with(line_of(11), "p u cudaMemPoolCreate\n");
}

static void hear(const void *from, uint64_t bytes, int played_back)
{
    (void)from, (void)bytes, (void)played_back;
}

/* It has PyTorch's own figures. */
static void nothing_is_told_where_a_package_listens(void **state)
{
    void (*listen)(void (*)(const void *, uint64_t, int), void (*)(const char *));
    (void)state;
    find("memscope_null_listen", &listen);
    listen(hear, NULL);
    release(ledger_test_asks(5));
    listen(NULL, NULL);
    assert_string_equal(line_of(12), "");
}

static int open_ledger(void **state)
{
    static char folder[4096];
    const char *build = getenv("BUILD");
    if (open_library(state) != 0)
        return -1;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    snprintf(folder, sizeof folder, "%s/ledger.XXXXXX", build ? build : "build/release");
    return mkdtemp(folder) && setenv("MEMSCOPE_CAPTURE_DIR", folder, 1) == 0 ? 0 : -1;
}

static int remove_ledger(void **state)
{
    char path[4096];
    (void)state;
    snprintf(path, sizeof path, "%s/%ld.ledger", getenv("MEMSCOPE_CAPTURE_DIR"), (long)getpid());
    unlink(path);
    return rmdir(getenv("MEMSCOPE_CAPTURE_DIR"));
}

int main(void)
{
    const struct CMUnitTest ledger[] = {
        cmocka_unit_test(allocations_are_told_with_who_asked),
        cmocka_unit_test(the_drivers_pools_are_told),
        cmocka_unit_test(nothing_is_told_where_a_package_listens),
    };
    const struct CMUnitTest memory[] = {
        cmocka_unit_test(memory_stays_while_it_is_held_or_mapped),
    };
    int failed = cmocka_run_group_tests(memory, open_library, NULL);
    return failed + cmocka_run_group_tests(ledger, open_ledger, remove_ledger);
}
