/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/program_task.h"

#include <ctype.h>
#include <string.h>

#include "input/config/launch/launch_words.h"
#include "base/text/words.h"

/* Trainings with pairs, rewards, generations or a teacher. */
static const char tasks[] = " dpo kto grpo orpo cpo rloo ppo bco gkd gold reward prm xpo nash tpo "
                            "sdft sdpo gspo dapo simpo "
                            "ipo rlhf rl grpo distill distillation minillm papo ";

const char *ms_program_task(ms_arena *arena, const char *name)
{
    const char *base = ms_launch_base_name(name);
    const bool is_of_trl = strstr(name, "trl/scripts/") || strstr(name, "examples/scripts/") ||
                           strncmp(name, "scripts/", strlen("scripts/")) == 0 ||
                           strncmp(name, "trl.scripts.", strlen("trl.scripts.")) == 0;
    char *text = ms_arena_strdup(arena, base);
    for (char *word = text; word && *word;) {
        size_t bytes = 0;
        while (isalnum((unsigned char)word[bytes]))
            bytes++;
        bool is_last = !word[bytes];
        word[bytes] = '\0';
        if (ms_words_have(tasks, word) || (is_of_trl && strcmp(word, "sft") == 0))
            return word;
        word += bytes + !is_last;
    }
    return NULL;
}

const char *ms_program_swift_task(const char *program)
{
    static const char *const programs[][2] = {
        {"swift/cli/sft.py", "sft"}, {"swift/cli/pt.py", "pt"}, {"swift/cli/rlhf.py", "rlhf"},
        {"swift.cli.sft", "sft"},    {"swift.cli.pt", "pt"},    {"swift.cli.rlhf", "rlhf"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (ms_text_ends_in(program, programs[i][0]))
            return programs[i][1];
    return NULL;
}
