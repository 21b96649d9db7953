/* kms-acls.xml: any bytes either are refused with a sentence or make a set that answers every question. */
#include "auth/auth.h"

static void ask(const struct acl_set *s, struct fl_slice user)
{
    static const char *const     in[] = { "g", "opsgroup" };
    const struct auth_group_list groups = { in, 2 };

    for (int op = 0; op < ACL_OPS; op++) {
        enum acl_answer by_name = acl_allows(s, op, user, NULL), by_group = acl_allows(s, op, user, &groups);

        if (by_group == ACL_NEEDS_GROUPS || (by_name != ACL_NEEDS_GROUPS && by_name != by_group))
            abort();
    }
    for (int op = 0; op < ACL_KEY_OPS; op++) {
        unsigned        trail = 0;
        enum acl_answer a = acl_key_allows(s, FL_LIT("k1"), op, user, &groups, &trail);

        if (a == ACL_NEEDS_GROUPS || (a == ACL_YES && (trail >> ACL_KEY_ALL & 1) != 0) ||
            (a == ACL_NO && acl_key_present(s, FL_LIT("k1"), op) != (trail != 0)))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct acl_set *s = NULL;
    struct fl_error err = { FL_OK, 0, "" };

    if (acl_set_parse(fl_slice_of(data, len), &s, &err) != FL_OK) {
        if (err.text[0] == '\0' || s != NULL)
            abort();
        return 0;
    }
    ask(s, FL_LIT("alice"));
    ask(s, fl_slice_of(data, len < 8 ? len : 8));
    acl_set_free(s);
    return 0;
}
