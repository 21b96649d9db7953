/* A Cookie header: what is found lies inside it, and nothing verifies but what this process signed. */
#include "auth/cookie_inside.h"

#include "base/clock.h"

static struct auth_cookies *cookies(void)
{
    static struct auth_cookies *c;
    struct auth_cookies_config  config = { .validity_ns = FL_NS_PER_S, .type = "simple-dt" };

    if (c == NULL) {
        fl_rcu_register();
        if (auth_cookies_new(&c, &config, NULL) != FL_OK)
            abort();
    }
    return c;
}

static void sign_and_verify(struct fl_slice user)
{
    struct auth_cookie k = { .user = user }, back;
    struct fl_buf      line;
    struct fl_slice    value, text;
    bool               ascii = true;

    fl_buf_init(&line, 1 << 20);
    for (size_t i = 0; i < user.len; i++)
        ascii = ascii && user.at[i] >= ' ' && user.at[i] < 0x7f && user.at[i] != '"';
    if (auth_cookie_put(cookies(), &k, 1, &line)) {
        text = fl_slice_from(fl_buf_slice(&line), sizeof "Set-Cookie: " - 1);
        if (!fl_slice_ends(text, FL_LIT("\r\n")) || fl_slice_find(text, '\n') != text.len - 1)
            abort(); /* a name wrote a line of its own */
        if (ascii &&
            (!auth_cookie_find(text, "hadoop.auth", &value) ||
             auth_cookie_verify(cookies(), value, 1, &back, NULL) != FL_OK || !fl_slice_equal(back.user, user)))
            abort();
    }
    fl_buf_done(&line);
}

/* Any text that this process signed: it is taken apart, and what comes out lies inside of it. */
static void verify_signed(struct fl_slice text)
{
    const struct cookie_secrets *secrets = fl_rcu_read(&cookies()->secrets);
    char                         signature[COOKIE_SIGNATURE_LEN];
    struct auth_cookie           k;
    struct fl_buf                value;
    const uint8_t               *end;

    fl_buf_init(&value, 1 << 20);
    if (!cookie_sign(secrets->current_id, secrets->current, text, signature) || !fl_buf_put_slice(&value, text) ||
        !FL_BUF_LIT(&value, "&s=") || !fl_buf_put(&value, signature, sizeof signature))
        abort();
    end = fl_buf_tail(&value);
    if (auth_cookie_verify(cookies(), fl_buf_slice(&value), 1, &k, NULL) == FL_OK &&
        (k.user.at < value.data || k.user.at + k.user.len > end || k.principal.at + k.principal.len > end ||
         !fl_slice_equal(k.type, FL_LIT("simple-dt")) || (k.expiry_ms != -1 && k.expiry_ms < 1)))
        abort();
    fl_buf_done(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fl_slice    header = fl_slice_of(data, len), value;
    struct auth_cookie k;

    if (auth_cookie_find(header, "hadoop.auth", &value)) {
        if (value.at < data || value.at + value.len > data + len)
            abort();
        if (auth_cookie_verify(cookies(), value, 1, &k, NULL) == FL_OK)
            abort();
    }
    if (auth_cookie_verify(cookies(), header, 1, &k, NULL) == FL_OK)
        abort();
    sign_and_verify(header);
    verify_signed(header);
    return 0;
}
