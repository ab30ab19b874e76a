/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the symbol table of /proc/self/exe, which a stripped program does not have.
 */
#define _GNU_SOURCE /* for dl_iterate_phdr; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "hardware/nulldevice/symbols.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *image; /* of the file */
static size_t image_bytes, symbol_count, name_bytes;
static uintptr_t shift; /* from its addresses to those of the process */
static const ElfW(Sym) * symbols;
static const char *names;

static bool is_inside(uint64_t start, uint64_t bytes)
{
    return start <= image_bytes && bytes <= image_bytes - start;
}

static void map_image(void)
{
    struct stat facts;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (fstat(file, &facts) == 0 && facts.st_size > (off_t)sizeof(ElfW(Ehdr))) {
        void *p = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        image = p == MAP_FAILED ? NULL : p;
        image_bytes = (size_t)facts.st_size;
    }
    close(file);
}

static const ElfW(Shdr) * section(const ElfW(Ehdr) * header, unsigned number)
{
    uint64_t at = header->e_shoff + number * (uint64_t)header->e_shentsize;
    return number < header->e_shnum && is_inside(at, sizeof(ElfW(Shdr)))
               ? (const ElfW(Shdr) *)(image + at)
               : NULL;
}

/* The program is the first of its objects. */
static int take_shift(struct dl_phdr_info *object, size_t bytes, void *unused)
{
    (void)bytes, (void)unused;
    shift = object->dlpi_addr;
    return 1;
}

static void read_table(void)
{
    map_image();
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
    if (!image || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *table = section(header, i);
        const ElfW(Shdr) *text =
            table && table->sh_type == SHT_SYMTAB ? section(header, table->sh_link) : NULL;
        if (!text || !is_inside(table->sh_offset, table->sh_size) ||
            !is_inside(text->sh_offset, text->sh_size) || text->sh_size == 0 ||
            image[text->sh_offset + text->sh_size - 1] != '\0')
            continue;
        symbols = (const ElfW(Sym) *)(image + table->sh_offset);
        symbol_count = table->sh_size / sizeof *symbols;
        names = image + text->sh_offset;
        name_bytes = text->sh_size;
    }
    dl_iterate_phdr(take_shift, NULL);
}

const char *ms_null_symbol_of(const void *instruction)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_table);
    uintptr_t address = (uintptr_t)instruction - shift;
    for (size_t i = 0; i < symbol_count; i++) {
        const ElfW(Sym) *s = &symbols[i];
        if ((s->st_info & 0xf) == STT_FUNC && address >= s->st_value &&
            address - s->st_value < s->st_size && s->st_name < name_bytes)
            return names + s->st_name;
    }
    return NULL;
}
