#include "token/inside.h"

/* 5.5: known, not expired, password, in this order. The entry stays readable until the thread goes offline, also when
 * it is cancelled meanwhile. */
static void tell_not_found(struct fl_buf *b, const struct token_identifier *id)
{
    FL_BUF_LIT(b, "Token for real user: ");
    token_put_name(b, id->real_user);
    FL_BUF_LIT(b, ", can't be found in cache");
}

static void tell_expired(struct fl_buf *b, const struct token_identifier *id, int64_t now_ms, int64_t renew_ms)
{
    FL_BUF_LIT(b, "Token "); /* without a real user two blanks follow each other, as in Java */
    token_put_name(b, id->real_user);
    FL_BUF_LIT(b, " has expired, current time: ");
    token_put_date(b, now_ms);
    FL_BUF_LIT(b, " expected renewal time: ");
    token_put_date(b, renew_ms);
}

static void tell_wrong_password(struct fl_buf *b, const struct token_identifier *id)
{
    FL_BUF_LIT(b, "token (");
    token_identifier_describe(b, id);
    FL_BUF_LIT(b, ") is invalid, password doesn't match");
}

enum fl_status tokens_verify_tell(struct tokens *t, const struct token *presented, const struct token_identifier *id,
                                  int64_t now_ms, struct fl_buf *sentence)
{
    const struct token_entry *e = token_table_find(t->table, presented->identifier, id);
    int64_t                   renew_ms = e == NULL ? INT64_MIN : token_entry_renew_ms(e);

    if (renew_ms == INT64_MIN) /* absent, or cancelled since it was found */
        tell_not_found(sentence, id);
    else if (renew_ms < now_ms)
        tell_expired(sentence, id, now_ms, renew_ms);
    else if (fl_equal_ct(token_entry_password(e), presented->password))
        return FL_OK;
    else
        tell_wrong_password(sentence, id);
    return FL_DENIED;
}

/* The sentence is put together in a buffer on the stack, which never grows, so a refusal allocates nothing either. */
enum fl_status tokens_verify(struct tokens *t, const struct token *presented, const struct token_identifier *id,
                             int64_t now_ms, struct fl_error *err)
{
    uint8_t        room[512];
    struct fl_buf  sentence = { .data = room, .cap = sizeof room, .limit = sizeof room };
    enum fl_status s = tokens_verify_tell(t, presented, id, now_ms, &sentence);

    return s == FL_OK ? s : fl_fail(err, s, 0, "%.*s", FL_SLICE_ARGS(fl_buf_slice(&sentence)));
}
