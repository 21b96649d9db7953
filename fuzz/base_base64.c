/* The decoders of text: base64 (lenient and strict) and percent. What the strict one takes, the lenient one takes the
 * same way, and encoding gives the text back. */
#include "base/encode.h"
#include "base/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_round_trip(struct fl_slice text, struct fl_slice bytes)
{
    struct fl_buf again;
    bool          url_safe = fl_slice_find(text, '-') != SIZE_MAX || fl_slice_find(text, '_') != SIZE_MAX;

    while (text.len > 0 && text.at[text.len - 1] == '=')
        text.len--;
    fl_buf_init(&again, 0);
    if (!(url_safe ? fl_base64url_put(&again, bytes) : fl_base64_put(&again, bytes)))
        abort();
    if (!fl_slice_equal(fl_slice_of(again.data, FL_MIN(text.len, fl_buf_len(&again))), text))
        abort();
    fl_buf_done(&again);
}

static void try_base64(struct fl_slice text)
{
    size_t               room = FL_BASE64_DECODED_MAX(text.len);
    FL_AUTO_MEM uint8_t *lenient = malloc(room + 1), *strict = malloc(room + 1);
    size_t               lenient_len, strict_len;

    if (lenient == NULL || strict == NULL)
        return;
    lenient[room] = strict[room] = 0xa5;
    lenient_len = fl_base64_decode_lenient(text, lenient);
    if (lenient_len > room || lenient[room] != 0xa5)
        abort();
    if (fl_base64_decode(text, strict, &strict_len, NULL) != FL_OK)
        return;
    if (strict[room] != 0xa5 || !fl_slice_equal(fl_slice_of(lenient, lenient_len), fl_slice_of(strict, strict_len)))
        abort();
    check_round_trip(text, fl_slice_of(strict, strict_len));
}

/* Decoded in place it must be the same, since callers do that. */
static void try_percent(struct fl_slice text, bool plus_is_blank)
{
    FL_AUTO_MEM uint8_t *apart = malloc(text.len + 1), *in_place = malloc(text.len + 1);
    size_t               apart_len, in_place_len;
    enum fl_status       s;

    if (apart == NULL || in_place == NULL)
        return;
    if (text.len > 0)
        memcpy(in_place, text.at, text.len);
    s = fl_percent_decode(text, plus_is_blank, apart, &apart_len, NULL);
    if (s != fl_percent_decode(fl_slice_of(in_place, text.len), plus_is_blank, in_place, &in_place_len, NULL))
        abort();
    if (s == FL_OK && !fl_slice_equal(fl_slice_of(apart, apart_len), fl_slice_of(in_place, in_place_len)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fl_slice text = fl_slice_of(data, len);
    struct fl_buf   json;

    try_base64(text);
    try_percent(text, false);
    try_percent(text, true);
    fl_buf_init(&json, 0);
    if (!fl_json_put_string(&json, text) || !fl_utf8_valid(fl_buf_slice(&json)))
        abort(); /* whatever goes in, what comes out is UTF-8 */
    fl_buf_done(&json);
    return 0;
}
