/* What base/flags.h writes out of a table: help, reference, completion, what is in force. */
#include "base/flag_value.h"

enum { COLUMNS = 80, HELP_COLUMN = 30 };

/* Wrapped text. */

static size_t width_of(struct fl_slice text)
{
    size_t width = 0;

    for (size_t i = 0; i < text.len; i++)
        width += (text.at[i] & 0xc0) != 0x80; /* a UTF-8 sequence takes one column */
    return width;
}

static void put_blanks(struct fl_buf *out, size_t count)
{
    while (count-- > 0)
        fl_buf_put_byte(out, ' ');
}

/* Words from column `at` on; further lines begin at column `indent`. Ends the line. */
static void put_wrapped(struct fl_buf *out, struct fl_slice text, size_t at, size_t indent)
{
    bool first = true;

    while (text.len > 0) {
        size_t          end = FL_MIN(fl_slice_find(text, ' '), text.len);
        struct fl_slice word = fl_slice_of(text.at, end);
        size_t          width = width_of(word);

        if (!first && at + 1 + width > COLUMNS) {
            fl_buf_put_byte(out, '\n');
            put_blanks(out, indent);
            at = indent;
        } else if (!first) {
            fl_buf_put_byte(out, ' ');
            at++;
        }
        fl_buf_put_slice(out, word);
        at += width;
        first = false;
        text = fl_slice_from(text, end + 1);
    }
    fl_buf_put_byte(out, '\n');
}

/* Groups, in the order of their first flags. */

static const char *group_of(const struct fl_flag *f)
{
    return f->group == NULL ? "Flags" : f->group;
}

static bool begins_group(const struct fl_flag_table *t, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (strcmp(group_of(&t->flags[i]), group_of(&t->flags[row])) == 0)
            return false;
    return true;
}

/* Calls put for each flag of the group that flag number `first` begins. */
static void each_of_group(const struct fl_flag_table *t, size_t first, struct fl_buf *out,
                          void (*put)(const struct fl_flag *f, struct fl_buf *out))
{
    for (size_t i = first; i < t->count; i++)
        if (strcmp(group_of(&t->flags[i]), group_of(&t->flags[first])) == 0)
            put(&t->flags[i], out);
}

static void put_form(const struct fl_flag *f, struct fl_buf *out)
{
    static const char *const values[] = {
        [FL_FLAG_INT] = "NUMBER",  [FL_FLAG_BYTES] = "SIZE",   [FL_FLAG_DURATION] = "TIME",
        [FL_FLAG_STRING] = "TEXT", [FL_FLAG_STRINGS] = "TEXT",
    };

    if (f->type == FL_FLAG_BOOL)
        fl_buf_printf(out, "--[no]%s", f->name);
    else
        fl_buf_printf(out, "--%s=%s", f->name, f->type == FL_FLAG_ENUM ? f->choices : values[f->type]);
}

static void begin_note(struct fl_buf *out, bool *open)
{
    fl_buf_put_str(out, *open ? "; " : " (");
    *open = true;
}

/* " (from 1 to 256; default 4)", or nothing. */
static void put_notes(const struct fl_flag *f, struct fl_buf *out)
{
    bool open = false;

    if (base_flag_has_range(f)) {
        begin_note(out, &open);
        base_flag_put_range(f, out);
        if (f->type == FL_FLAG_INT && f->unit != NULL)
            fl_buf_printf(out, " %s", f->unit);
    }
    if (f->type == FL_FLAG_STRINGS) {
        begin_note(out, &open);
        FL_BUF_LIT(out, "may be given several times");
    }
    if (f->required || f->default_text != NULL) {
        begin_note(out, &open);
        fl_buf_put_str(out, f->required ? "required" : "default ");
        fl_buf_put_str(out, f->required ? "" : f->default_text);
    }
    if (open)
        fl_buf_put_byte(out, ')');
}

static void put_help_entry(struct fl_buf *out, struct fl_slice form, struct fl_slice text)
{
    size_t width = 2 + width_of(form);

    FL_BUF_LIT(out, "  ");
    fl_buf_put_slice(out, form);
    if (width + 2 > HELP_COLUMN) {
        fl_buf_put_byte(out, '\n');
        width = 0;
    }
    put_blanks(out, HELP_COLUMN - width);
    put_wrapped(out, text, HELP_COLUMN, HELP_COLUMN);
}

static void put_help_flag(const struct fl_flag *f, struct fl_buf *out)
{
    struct fl_buf form, text;

    fl_buf_init(&form, 0);
    fl_buf_init(&text, 0);
    put_form(f, &form);
    fl_buf_put_str(&text, f->help);
    put_notes(f, &text);
    put_help_entry(out, fl_buf_slice(&form), fl_buf_slice(&text));
    out->failed = out->failed || form.failed || text.failed;
    fl_buf_done(&text);
    fl_buf_done(&form);
}

bool fl_flags_help(const struct fl_flag_table *t, struct fl_buf *out)
{
    fl_buf_printf(out, "usage: %s [--flag=value ...]", t->program);
    if (t->arguments != NULL && *t->arguments != '\0')
        fl_buf_printf(out, " %s", t->arguments);
    FL_BUF_LIT(out, "\n\n");
    put_wrapped(out, fl_slice_str(t->summary), 0, 0);
    for (size_t i = 0; i < t->count; i++) {
        if (!begins_group(t, i))
            continue;
        fl_buf_printf(out, "\n%s:\n", group_of(&t->flags[i]));
        each_of_group(t, i, out, put_help_flag);
    }
    FL_BUF_LIT(out, "\nEverywhere:\n");
    put_help_entry(out, FL_LIT("--flagfile=PATH"),
                   FL_LIT("Reads flags from a file, one name=value a line, '#' begins a comment."));
    put_help_entry(out, FL_LIT("--help"), FL_LIT("Shows this text."));
    FL_BUF_LIT(out, "\n");
    put_wrapped(out,
                FL_LIT("A flag is also taken from the environment, as FEATHERLOCK_NAME; the flag file overrules that, "
                       "the command line both."),
                0, 0);
    return !out->failed;
}

/* The reference page. */

static void put_cell(struct fl_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|') /* would end the cell */
            fl_buf_put_byte(out, '\\');
        fl_buf_put_byte(out, (uint8_t)*text);
    }
}

static void put_value_cell(const struct fl_flag *f, struct fl_buf *out)
{
    static const char *const names[] = {
        [FL_FLAG_BOOL] = "true or false",
        [FL_FLAG_INT] = "whole number",
        [FL_FLAG_BYTES] = "size",
        [FL_FLAG_DURATION] = "duration",
        [FL_FLAG_STRING] = "text",
        [FL_FLAG_ENUM] = "one of ",
        [FL_FLAG_STRINGS] = "text, may be given several times",
    };

    fl_buf_put_str(out, names[f->type]);
    if (f->type == FL_FLAG_ENUM)
        put_cell(out, f->choices);
    if (base_flag_has_range(f)) {
        fl_buf_put_byte(out, ' ');
        base_flag_put_range(f, out);
    }
    if (f->unit != NULL && f->type == FL_FLAG_INT)
        fl_buf_printf(out, " (%s)", f->unit);
    if (f->unit != NULL && f->type == FL_FLAG_DURATION)
        fl_buf_printf(out, " (a bare number: %s)", f->unit);
}

static void put_reference_row(const struct fl_flag *f, struct fl_buf *out)
{
    fl_buf_printf(out, "| `--%s` | ", f->name);
    put_value_cell(f, out);
    FL_BUF_LIT(out, " | ");
    if (f->required) {
        FL_BUF_LIT(out, "required");
    } else if (f->default_text != NULL && *f->default_text != '\0') {
        fl_buf_put_byte(out, '`');
        put_cell(out, f->default_text);
        fl_buf_put_byte(out, '`');
    }
    FL_BUF_LIT(out, " | ");
    put_cell(out, f->help);
    FL_BUF_LIT(out, " |\n");
}

bool fl_flags_reference(const struct fl_flag_table *t, struct fl_buf *out)
{
    fl_buf_printf(out, "## %s\n\n%s\n", t->program, t->summary);
    for (size_t i = 0; i < t->count; i++) {
        if (!begins_group(t, i))
            continue;
        fl_buf_printf(out, "\n### %s\n\n| Flag | Value | Default | Meaning |\n|---|---|---|---|\n",
                      group_of(&t->flags[i]));
        each_of_group(t, i, out, put_reference_row);
    }
    return !out->failed;
}

/* Completion and what is in force. */

static void put_choice_words(const struct fl_flag *f, struct fl_buf *out)
{
    for (const char *choice = f->choices;; choice++) {
        size_t len = strcspn(choice, "|");

        fl_buf_printf(out, "--%s=%.*s\n", f->name, (int)len, choice);
        choice += len;
        if (*choice == '\0')
            return;
    }
}

bool fl_flags_completion(const struct fl_flag_table *t, struct fl_buf *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct fl_flag *f = &t->flags[i];

        if (f->type == FL_FLAG_BOOL)
            fl_buf_printf(out, "--%s\n--no%s\n", f->name, f->name);
        else if (f->type == FL_FLAG_ENUM)
            put_choice_words(f, out);
        else
            fl_buf_printf(out, "--%s=\n", f->name);
    }
    FL_BUF_LIT(out, "--flagfile=\n--help\n");
    return !out->failed;
}

bool fl_flags_show(const struct fl_flag_table *t, const void *from, struct fl_buf *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct fl_flag    *f = &t->flags[i];
        const void              *field = (const char *)from + f->offset;
        const struct fl_strings *list = field;

        if (f->type == FL_FLAG_STRINGS) {
            for (size_t j = 0; j < list->count; j++)
                fl_buf_printf(out, "%s=%s\n", f->name, list->at[j]);
        } else if (f->type != FL_FLAG_STRING || *(char *const *)field != NULL) {
            fl_buf_printf(out, "%s=", f->name);
            base_flag_put_value(f, from, out);
            fl_buf_put_byte(out, '\n');
        }
    }
    return !out->failed;
}
