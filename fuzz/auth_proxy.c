/* Proxy user rules, one a line: any text is refused with a sentence or answers every question. */
#include "auth/proxy_inside.h"

static enum fl_status resolve(const char *host, struct proxy_net *into, struct fl_error *err)
{
    const uint8_t address[4] = { 10, (uint8_t)strlen(host), 0, 1 };

    if (host[0] == 'x')
        return fl_fail(err, FL_USAGE, 0, "cannot resolve host '%s'", host);
    return proxy_net_add(into, address, sizeof address, 32) ? FL_OK : fl_fail(err, FL_NO_MEMORY, 0, "no memory");
}

static void ask(const struct auth_proxies *p, const char *real)
{
    static const char *const     in[] = { "g", "root" };
    const struct auth_group_list groups = { in, 2 };
    struct fl_slice              name = auth_short_name(fl_slice_str(real));
    enum acl_answer              by_name, by_group;

    if (fl_slice_find(name, ':') != SIZE_MAX)
        name.len = fl_slice_find(name, ':');
    by_name = auth_proxy_user_allowed(p, name, FL_LIT("alice@X"), NULL);
    by_group = auth_proxy_user_allowed(p, name, FL_LIT("alice@X"), &groups);
    if (by_group == ACL_NEEDS_GROUPS || (by_name != ACL_NEEDS_GROUPS && by_name != by_group))
        abort();
    if (auth_proxy_host_allowed(p, name, "unix") && !auth_proxy_host_allowed(p, name, "203.0.113.9"))
        abort();                                                 /* only "*" lets a Unix socket in */
    FL_IGNORE(auth_proxy_host_allowed(p, name, "fe80::1%eth0")); /* only for its memory accesses */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char                *text = fl_slice_dup(fl_slice_of(data, len)), *rest = text, *at[16];
    struct fl_strings    rules = { at, 0 };
    struct auth_proxies *p = NULL;
    struct fl_error      err = { FL_OK, 0, "" };

    if (text == NULL)
        return 0;
    while (rest != NULL && rules.count < FL_COUNT(at))
        at[rules.count++] = strsep(&rest, "\n");
    if (proxies_new_with(&p, &rules, resolve, &err) == FL_OK) {
        for (size_t i = 0; i < rules.count; i++)
            ask(p, at[i]);
        auth_proxies_free(p);
    } else if (err.text[0] == '\0' || p != NULL) {
        abort();
    }
    free(text);
    return 0;
}
