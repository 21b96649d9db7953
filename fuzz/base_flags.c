/* The text of a flag file. Whatever is in it is taken or refused with a sentence, and what was taken can be shown and
 * read again. */
#include "base/flags.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct some_flags {
    bool              check;
    int64_t           reactors;
    uint64_t          room, idle;
    char             *folder;
    int               level;
    struct fl_strings peers;
};

static const struct fl_flag flags[] = {
    { .name = "check", .type = FL_FLAG_BOOL, .offset = offsetof(struct some_flags, check), .help = "Checks." },
    { .name = "reactors",
      .type = FL_FLAG_INT,
      .offset = offsetof(struct some_flags, reactors),
      .default_text = "2",
      .min = 1,
      .max = 256,
      .help = "Threads." },
    { .name = "room",
      .type = FL_FLAG_BYTES,
      .offset = offsetof(struct some_flags, room),
      .max = INT64_MAX,
      .help = "Memory." },
    { .name = "idle",
      .type = FL_FLAG_DURATION,
      .offset = offsetof(struct some_flags, idle),
      .unit = "ms",
      .help = "Time." },
    { .name = "folder", .type = FL_FLAG_STRING, .offset = offsetof(struct some_flags, folder), .help = "Folder." },
    { .name = "level",
      .type = FL_FLAG_ENUM,
      .offset = offsetof(struct some_flags, level),
      .choices = "debug|info|warn",
      .help = "Level." },
    { .name = "peer", .type = FL_FLAG_STRINGS, .offset = offsetof(struct some_flags, peers), .help = "Peers." },
};
static const struct fl_flag_table table = {
    .flags = flags, .count = FL_COUNT(flags), .program = "featherlock fuzz", .summary = "Reads flags.", .arguments = ""
};

static enum fl_status parse_text(struct some_flags *into, struct fl_slice text, struct fl_error *err)
{
    char           word[64];
    char          *argv[] = { (char *)"fuzz", word, NULL };
    enum fl_status s;
    FL_AUTO_FD     fd = memfd_create("flags", MFD_CLOEXEC);

    if (fd < 0 || write(fd, text.at, text.len) != (ssize_t)text.len)
        abort();
    snprintf(word, sizeof word, "--flagfile=/proc/self/fd/%d", fd);
    memset(into, 0, sizeof *into);
    s = fl_flags_parse(&table, into, 2, argv, NULL, err);
    if (s != FL_OK && err->text[0] == '\0')
        abort();
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct some_flags first, second;
    struct fl_error   err = { .text = "" };
    struct fl_buf     shown, again;

    if (len == 0 || parse_text(&first, fl_slice_of(data, len), &err) != FL_OK)
        return 0;
    fl_buf_init(&shown, 0);
    fl_buf_init(&again, 0);
    if (!fl_flags_show(&table, &first, &shown) || parse_text(&second, fl_buf_slice(&shown), &err) != FL_OK)
        abort();
    if (!fl_flags_show(&table, &second, &again) || !fl_slice_equal(fl_buf_slice(&shown), fl_buf_slice(&again)))
        abort();
    fl_buf_done(&again);
    fl_buf_done(&shown);
    fl_flags_done(&table, &second);
    fl_flags_done(&table, &first);
    return 0;
}
