/* Plays the files of one folder through a fuzz target, in the order of their names, without libFuzzer: seeds and old
 * findings are so a test of every build. Prints the count; a folder that is missing or has no file is a failure. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int fail(const char *what, const char *name)
{
    fprintf(stderr, "%s ", what);
    perror(name);
    return -1;
}

/* Feeds one file, from memory of exactly its size, so that a sanitizer sees a read behind the end. */
static int play(FILE *file, size_t len, const char *path)
{
    uint8_t *data = malloc(len > 0 ? len : 1);

    if (data == NULL || fread(data, 1, len, file) != len) {
        free(data);
        return fail("cannot read", path);
    }
    LLVMFuzzerTestOneInput(data, len);
    free(data);
    return 1;
}

/* 1: played, 0: not a file, -1: said why not. */
static int play_path(const char *path)
{
    FILE       *file = fopen(path, "rb");
    struct stat s;
    int         played = 0;

    if (file == NULL)
        return fail("cannot open", path);
    if (fstat(fileno(file), &s) != 0)
        played = fail("cannot look at", path);
    else if (S_ISREG(s.st_mode))
        played = play(file, (size_t)s.st_size, path);
    fclose(file);
    return played;
}

static int play_folder(const char *folder, struct dirent **entries, int count)
{
    char path[4096];
    int  sum = 0;

    for (int i = 0; i < count; i++) {
        int played;

        if (snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) >= (int)sizeof path)
            return fail("too long a path:", path);
        played = play_path(path);
        if (played < 0)
            return -1;
        sum += played;
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct dirent **entries;
    int             count, played;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    count = scandir(argv[1], &entries, NULL, alphasort);
    if (count < 0) {
        fail("cannot list", argv[1]);
        return 1;
    }
    played = play_folder(argv[1], entries, count);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    if (played == 0)
        fprintf(stderr, "no file in %s\n", argv[1]);
    if (played <= 0)
        return 1;
    printf("%d inputs played\n", played);
    return 0;
}
