/* A Cookie header: what is found lies inside it, and nothing verifies but what this process signed. */
#include "auth/auth.h"

#include "base/clock.h"
#include "base/rcu.h"

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
        if (ascii && (!auth_cookie_find(text, "hadoop.auth", &value) ||
                      auth_cookie_verify(cookies(), value, 1, &back, NULL) != FL_OK || !fl_slice_equal(back.user, user)))
            abort();
    }
    fl_buf_done(&line);
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
    return 0;
}
