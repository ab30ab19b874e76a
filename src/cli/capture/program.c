/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starting, waiting for and ending the captured program.
 */
#define _XOPEN_SOURCE 700 /* for realpath; NOLINT(clang-diagnostic-reserved-macro-identifier) */

#include "cli/capture/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/output/message.h"
#include "memscope/memscope.h"

/* ---- executable ---- */

enum { EXECUTABLE_PATH_BYTES = 4096, LINE_BYTES = 256, MOST_SCRIPTS = 4, MOST_SEGMENTS = 64 };

typedef struct executable {
    char path[EXECUTABLE_PATH_BYTES];
    bool is_privileged, is_elf, is_narrow, is_foreign, is_static;
} executable;

static bool is_runnable(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* As execvp does. */
static bool resolve(const char *name, char path[EXECUTABLE_PATH_BYTES])
{
    const char *folders = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(path, EXECUTABLE_PATH_BYTES, "%s", name);
        return is_runnable(path);
    }
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, EXECUTABLE_PATH_BYTES, "%.*s/%.255s",
                 length > 0 && length < 2048 ? (int)length : 1, length > 0 ? folders : ".", name);
        if (is_runnable(path))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* "#!/usr/bin/env -S python3 -u": its interpreter is python3. */
static bool interpreter_of(char *line, char path[EXECUTABLE_PATH_BYTES])
{
    char *rest = NULL;
    line[strcspn(line, "\n")] = '\0';
    const char *word = strtok_r(line + 2, " \t", &rest);
    if (!word)
        return false;
    size_t length = strlen(word);
    bool is_env = length >= 4 && strcmp(word + length - 4, "/env") == 0;
    if (!is_env)
        return resolve(word, path);
    do
        word = strtok_r(NULL, " \t", &rest);
    while (word && (word[0] == '-' || strchr(word, '=')));
    return word && resolve(word, path);
}

static void read_elf(FILE *file, const unsigned char *ident, executable *e)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;
    static const int own_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    e->is_elf = true;
    e->is_foreign = ident[EI_CLASS] != own_class;
    e->is_narrow = ident[EI_CLASS] == ELFCLASS32;
    rewind(file);
    if (e->is_foreign || fread(&header, sizeof header, 1, file) != 1)
        return;
    e->is_static = true;
    for (unsigned i = 0; i < header.e_phnum && i < MOST_SEGMENTS; i++) {
        long at = (long)(header.e_phoff + i * (uint64_t)header.e_phentsize);
        if (fseek(file, at, SEEK_SET) != 0 || fread(&segment, sizeof segment, 1, file) != 1)
            break;
        if (segment.p_type == PT_INTERP)
            e->is_static = false;
    }
}

/* False when it is a script whose interpreter, then in `path`, is to be looked at. */
static bool look_at_file(executable *e)
{
    char line[LINE_BYTES] = "";
    struct stat facts;
    if (stat(e->path, &facts) != 0)
        return true;
    e->is_privileged = ((facts.st_mode & S_ISUID) && facts.st_uid != geteuid()) ||
                       ((facts.st_mode & S_ISGID) && facts.st_gid != getegid());
    FILE *file = fopen(e->path, "rb");
    size_t got = file ? fread(line, 1, sizeof line - 1, file) : 0;
    bool is_script = got > 2 && memcmp(line, "#!", 2) == 0;
    if (got > EI_NIDENT && memcmp(line, ELFMAG, SELFMAG) == 0)
        read_elf(file, (const unsigned char *)line, e);
    if (file)
        fclose(file);
    return !is_script || !interpreter_of(line, e->path);
}

/* False when there is no such program. */
static bool look_at(const char *name, executable *e)
{
    memset(e, 0, sizeof *e);
    if (!resolve(name, e->path))
        return false;
    for (int i = 0; i < MOST_SCRIPTS && !look_at_file(e); i++)
        ;
    return true;
}

ms_status ms_cli_check_program(const char *name, bool takes_library, ms_error *err)
{
    executable e;
    if (!look_at(name, &e))
        return MS_OK;
    if (e.is_privileged)
        return ms_cli_fail(
            err, MS_ERR_USAGE,
            "%.150s is set-uid or set-gid: the system does not preload libraries into it", e.path);
    if (takes_library && e.is_elf && e.is_foreign)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "%.150s is a %s-bit program: the null device cannot be loaded into it",
                           e.path, e.is_narrow ? "32" : "64");
    return MS_OK;
}

/* What is there may stay; a second null device may not, nor what the loader would complain of. */
ms_status ms_cli_check_environment(ms_error *err)
{
    const char *list = getenv("LD_PRELOAD");
    if (getenv("MEMSCOPE_CAPTURE_DIR"))
        return ms_cli_fail(err, MS_ERR_USAGE, "memscope capture cannot run inside another capture");
    while (list && *list) {
        char path[EXECUTABLE_PATH_BYTES];
        int length = (int)strcspn(list, " :");
        snprintf(path, sizeof path, "%.*s", length < EXECUTABLE_PATH_BYTES ? length : 0, list);
        if (strstr(path, "libmemscope_null.so"))
            return ms_cli_fail(
                err, MS_ERR_USAGE,
                "LD_PRELOAD already names the null device: unset it, memscope sets it itself");
        if (strchr(path, '/') && access(path, R_OK) != 0)
            return ms_cli_fail(err, MS_ERR_USAGE, "LD_PRELOAD names %.100s: %s", path,
                               strerror(errno));
        list += length + (list[length] != '\0');
    }
    return MS_OK;
}

bool ms_cli_is_static(const char *name)
{
    executable e;
    return look_at(name, &e) && e.is_elf && e.is_static;
}

/* ---- program ---- */

enum { PATH_BYTES = 4096, GRACE_SECONDS = 5, TEXT_BYTES = 512 };

typedef struct places {
    char library[PATH_BYTES], library_folder[PATH_BYTES], python[PATH_BYTES];
} places;

/* ---- where the parts are ---- */

/* Relative to the program: where it was built, where it is installed, and where pip puts it. */
static const char *const library_folders[] = {"nulldevice", "../lib/memscope",
                                              "../share/memscope/nulldevice", NULL};

static const char *const python_folders[] = {
    "../../scripts/memscope_torch/inject", "../share/memscope/python/memscope_torch/inject", NULL};

static bool find(const char *home, const char *const *folders, const char *file,
                 char found[PATH_BYTES])
{
    for (size_t i = 0; folders[i]; i++) {
        char path[2 * PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s/%s", home, folders[i], file);
        snprintf(found, PATH_BYTES, "%s/%s", home, folders[i]);
        if (strlen(path) < PATH_BYTES && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static ms_status find_places(places *p, ms_error *err)
{
    char home[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", home, sizeof home - 1);
    if (length < 0)
        return ms_cli_fail(err, MS_ERR_IO, "cannot find memscope's own files: %s", strerror(errno));
    home[length] = '\0';
    *strrchr(home, '/') = '\0';
    if (!find(home, library_folders, "libmemscope_null.so", p->library_folder))
        return ms_cli_fail(err, MS_ERR_IO,
                           "libmemscope_null.so is neither in nulldevice nor in ../lib/memscope, "
                           "seen from memscope's folder");
    if (!find(home, python_folders, "sitecustomize.py", p->python))
        return ms_cli_fail(err, MS_ERR_IO,
                           "the package memscope_torch is not in ../share/memscope/python, seen "
                           "from memscope's folder");
    if (strpbrk(p->library_folder, ": ;"))
        return ms_cli_fail(err, MS_ERR_IO,
                           "the system cannot preload a library from a folder with spaces or "
                           "colons in its name: %.150s",
                           p->library_folder);
    snprintf(p->library, sizeof p->library, "%.4000s/libmemscope_null.so", p->library_folder);
    return MS_OK;
}

/* ---- its environment ---- */

/* Puts a part in front of a list. */
static bool prepend(const char *name, const char *part)
{
    const char *old = getenv(name);
    size_t bytes = strlen(part) + (old ? strlen(old) : 0) + 2;
    char *text = malloc(bytes);
    if (!text)
        return false;
    snprintf(text, bytes, "%s%s%s", part, old && *old ? ":" : "", old && *old ? old : "");
    bool set = setenv(name, text, 1) == 0;
    free(text);
    return set;
}

static bool set_environment(const ms_cli_capture_request *request, const places *p,
                            const char *folder)
{
    const ms_device_facts *d = request->device;
    char device[TEXT_BYTES] = "", rates[64] = "", steps[32], count[32], ranks[32];
    char rank[32];
    char compiled[2 * PATH_BYTES];
    const char *own_cache = getenv("TORCHINDUCTOR_CACHE_DIR");
    if (d)
        snprintf(rates, sizeof rates, "%.6e %.6e", d->bf16_flops, d->memory_bytes_per_s);
    if (d)
        snprintf(device, sizeof device, "%s|%u|%u|%llu|%llu|%llu|%.4e|%.4e|%.4e|%.4e", d->title,
                 (unsigned)d->compute_capability, (unsigned)d->multiprocessors,
                 (unsigned long long)d->total_bytes, (unsigned long long)d->l2_bytes,
                 (unsigned long long)d->driver_bytes, d->bf16_flops, d->fp32_flops,
                 d->memory_bytes_per_s, d->host_link_bytes_per_s);
    snprintf(compiled, sizeof compiled, "%s/inductor", folder);
    snprintf(steps, sizeof steps, "%llu", (unsigned long long)request->steps);
    snprintf(count, sizeof count, "%llu", (unsigned long long)request->device_count);
    snprintf(ranks, sizeof ranks, "%llu", (unsigned long long)request->ranks);
    snprintf(rank, sizeof rank, "%llu", (unsigned long long)request->rank);
    const struct {
        const char *name, *value;
    } rows[] = {
        {"MEMSCOPE_NULL_DEVICE", d ? device : NULL},
        {"MEMSCOPE_CAPTURE_DIR", folder},
        {"MEMSCOPE_CAPTURE_STEPS", steps},
        {"MEMSCOPE_CAPTURE_MODE", d ? "null" : "cuda"},
        {"MEMSCOPE_CAPTURE_DEVICE", d ? d->name : NULL},
        {"PYTHONDONTWRITEBYTECODE", "1"},
        {"MEMSCOPE_CAPTURE_LOSS", request->loss},
        {"MEMSCOPE_CAPTURE_RATES", d ? rates : NULL},
        {"USE_PYTORCH_KERNEL_CACHE", d ? "0" : getenv("USE_PYTORCH_KERNEL_CACHE")},
        /* What is timed here must not decide how a GPU of that kind runs later. */
        {"TORCHINDUCTOR_CACHE_DIR", d && !own_cache ? compiled : own_cache},
        {"MEMSCOPE_NULL_COUNT", count},
        {"MEMSCOPE_CAPTURE_WORLD", ranks},
        {"MEMSCOPE_CAPTURE_RANK", rank},
        {"MEMSCOPE_CAPTURE_KEPT", request->kept},
        {"MEMSCOPE_NULL_CALLS", request->traces_calls ? "1" : NULL},
        {"MEMSCOPE_CAPTURE_TRACE", request->writes_trace ? "1" : NULL},
        {"MEMSCOPE_CAPTURE_PATHS", request->hides_paths ? "0" : NULL},
    };
    bool done = true;
    if (d)
        unsetenv("CUDA_VISIBLE_DEVICES"); /* it names devices of this machine */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && done; i++)
        done =
            (rows[i].value ? setenv(rows[i].name, rows[i].value, 1) : unsetenv(rows[i].name)) == 0;
    if (d)
        done = done && prepend("LD_PRELOAD", p->library) &&
               prepend("LD_LIBRARY_PATH", p->library_folder);
    return done && prepend("PYTHONPATH", p->python);
}

/* ---- the process ---- */

/* One that is ignored stays so, as under nohup: held, it would come all the same. */
void ms_cli_hold_signals(ms_cli_held_signals *signals)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the program's exit status away */
    sigemptyset(&signals->held);
    sigaddset(&signals->held, SIGCHLD);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&signals->held, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &signals->held, &signals->before);
}

void ms_cli_release_signals(const ms_cli_held_signals *signals)
{
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

/* In the child: becomes the program, or writes errno to the pipe. Not inlined: its paths are no
 * part of the caller's frame. */
__attribute__((noinline)) static void become(const ms_cli_capture_request *request, const places *p,
                                             const char *folder, int pipe_end)
{
    int null = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    setrlimit(RLIMIT_CORE, &(const struct rlimit){0}); /* a crash leaves nothing behind */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &request->signals->before, NULL);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
        set_environment(request, p, folder))
        execvp(request->program[0], request->program);
    int reason = errno;
    while (write(pipe_end, &reason, sizeof reason) < 0 && errno == EINTR)
        ;
    _exit(127);
}

static bool is_over(pid_t child, int *status)
{
    return waitpid(child, status, WNOHANG) != 0;
}

/* scripts/memscope_torch/engine.py leaves a file of an engine's core. */
static bool is_engine(const char *folder)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/core.engine", folder);
    return access(path, F_OK) == 0;
}

void ms_cli_describe(const ms_cli_ending *ending, const ms_cli_capture_request *request,
                     char how[MS_CLI_HOW_BYTES])
{
    if (ending->timed_out && is_engine(request->folder))
        snprintf(how, MS_CLI_HOW_BYTES, "was not ready to serve after %llu s (--time-limit)",
                 (unsigned long long)request->seconds);
    else if (ending->timed_out)
        snprintf(how, MS_CLI_HOW_BYTES, "did not take %llu optimizer steps in %llu s",
                 (unsigned long long)request->steps, (unsigned long long)request->seconds);
    else if (ending->interrupted)
        snprintf(how, MS_CLI_HOW_BYTES, "was sent signal %d (%.40s)", ending->interrupted,
                 strsignal(ending->interrupted));
    else if (ending->signal)
        snprintf(how, MS_CLI_HOW_BYTES, "was ended by signal %d (%.40s)", ending->signal,
                 strsignal(ending->signal));
    else
        snprintf(how, MS_CLI_HOW_BYTES, "exited with status %d", ending->code);
}

/* The record says so too: scripts/memscope_torch/capture.py looks for the file. A program may take
 * the signal for a wish, and end in its own way. */
static void end(const ms_cli_capture_request *request, pid_t child, int number,
                const ms_cli_ending *ending)
{
    char path[2 * PATH_BYTES], text[2 * MS_CLI_HOW_BYTES], how[MS_CLI_HOW_BYTES];
    ms_cli_describe(ending, request, how);
    int length = snprintf(text, sizeof text, "%s\n%s",
                          ending->timed_out ? "time_limit" : "interrupted", how);
    snprintf(path, sizeof path, "%s/.ended", request->folder);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0) {
        while (write(file, text, (size_t)length) < 0 && errno == EINTR)
            ;
        close(file);
    }
    kill(-child, number);
}

/* Waits for the child until `deadline`; true when it has ended. Signals that would end memscope end
 * the program. */
static bool wait_until(pid_t child, const ms_cli_capture_request *request, time_t deadline,
                       ms_cli_ending *ending, int *status)
{
    for (;;) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (is_over(child, status))
            return true;
        if (now.tv_sec >= deadline)
            return false;
        const struct timespec rest = {deadline - now.tv_sec, 0};
        int number = sigtimedwait(&request->signals->held, NULL, &rest);
        if (number <= 0 || number == SIGCHLD)
            continue;
        if (!ending->timed_out)
            ending->interrupted = number;
        end(request, child, number, ending);
        if (deadline > now.tv_sec + GRACE_SECONDS)
            deadline = now.tv_sec + GRACE_SECONDS;
    }
}

static time_t seconds_from_now(uint64_t seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + (time_t)seconds;
}

static void watch(const ms_cli_capture_request *request, pid_t child, ms_cli_ending *ending)
{
    int status = 0;
    if (!wait_until(child, request, seconds_from_now(request->seconds), ending, &status)) {
        ending->timed_out = ending->interrupted == 0;
        end(request, child, SIGTERM, ending);
        if (!wait_until(child, request, seconds_from_now(GRACE_SECONDS), ending, &status))
            kill(-child, SIGKILL), waitpid(child, &status, 0);
    }
    kill(-child, SIGTERM); /* what it started and left */
    if (WIFSIGNALED(status) && !ending->timed_out)
        ending->signal = WTERMSIG(status);
    ending->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Waits until the child has become the program. */
static int reason_of(int pipe_end)
{
    int reason = 0;
    ssize_t got;
    do
        got = read(pipe_end, &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof reason ? reason : 0;
}

ms_status ms_cli_run_program(const ms_cli_capture_request *request, ms_cli_ending *ending,
                             ms_error *err)
{
    places p;
    int ends[2];
    ms_status status = find_places(&p, err);
    if (status != MS_OK)
        return status;
    char *folder = realpath(request->folder, NULL);
    if (!folder || pipe(ends) != 0) {
        free(folder);
        return ms_cli_fail(err, MS_ERR_IO, "cannot start a program: %s", strerror(errno));
    }
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        become(request, &p, folder, ends[1]);
    }
    close(ends[1]);
    int reason = child < 0 ? errno : reason_of(ends[0]);
    close(ends[0]);
    if (reason == 0)
        watch(request, child, ending);
    else if (child > 0)
        waitpid(child, NULL, 0);
    free(folder);
    return reason == 0 ? MS_OK
                       : ms_cli_fail(err, MS_ERR_USAGE, "cannot run %.80s: %s", request->program[0],
                                     strerror(reason));
}

ms_status ms_cli_find_script(const char *name, char *path, size_t size, ms_error *err)
{
    places p;
    ms_status status = find_places(&p, err);
    int length = status == MS_OK ? snprintf(path, size, "%s/../%s", p.python, name) : 0;
    if (status == MS_OK && (length < 0 || (size_t)length >= size))
        return ms_cli_fail(err, MS_ERR_IO, "the name of memscope's folder is too long");
    return status;
}
