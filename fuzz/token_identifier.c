/* An identifier as a stranger presents it: decoded, encoded and decoded again it has the same eight fields, and what
 * is encoded is minimal, so that it stays as it is. Stored records are tried on the same bytes. */
#include "token/identifier.h"
#include "token/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_round_trip(const struct token_identifier *id, size_t taken)
{
    struct token_identifier again;
    struct fl_buf           first, second;

    fl_buf_init(&first, 0);
    fl_buf_init(&second, 0);
    if (!token_identifier_put(&first, id) || fl_buf_len(&first) > taken)
        abort();
    if (token_identifier_get(fl_buf_slice(&first), &again, NULL) != FL_OK || !token_identifier_same(id, &again))
        abort();
    if (!token_identifier_put(&second, &again) || !fl_slice_equal(fl_buf_slice(&first), fl_buf_slice(&second)))
        abort();
    fl_buf_clear(&first);
    if (!token_identifier_describe(&first, id) || !token_put_date(&first, id->issue_ms))
        abort();
    fl_buf_done(&second);
    fl_buf_done(&first);
}

static void try_records(struct fl_slice bytes)
{
    struct token_record     r;
    struct token_key_record k;
    struct fl_buf           b;

    fl_buf_init(&b, 0);
    if (token_record_get(bytes, &r, NULL) == FL_OK &&
        (!token_record_put(&b, r.identifier, r.renew_ms, r.password) || !fl_slice_starts(bytes, fl_buf_slice(&b))))
        abort();
    fl_buf_clear(&b);
    if (token_key_record_get(bytes, &k, NULL) == FL_OK && !token_key_record_put(&b, &k))
        abort();
    fl_buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fl_slice         rest = fl_slice_of(data, len);
    struct token_identifier id;

    if (token_identifier_take(&rest, &id, NULL) == FL_OK)
        check_round_trip(&id, len - rest.len);
    try_records(fl_slice_of(data, len));
    return 0;
}
