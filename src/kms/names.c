/* Key names as a Java key store takes them: without regard to case, keys and versions in one space. */
#include "base/encode.h"
#include "kms/call.h"
#include "kms/json_read.h"

#include <locale.h>
#include <string.h>
#include <wctype.h>

/* Lower case of one character, by the C library's Unicode tables. */
static uint32_t lower(uint32_t c)
{
    static locale_t unicode; /* made once; a second thread's copy is the same and lost, once */
    locale_t        l = __atomic_load_n(&unicode, __ATOMIC_ACQUIRE);

    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if (l == (locale_t)0) {
        l = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
        __atomic_store_n(&unicode, l, __ATOMIC_RELEASE);
    }
    return l == (locale_t)0 ? c : (uint32_t)towlower_l((wint_t)c, l);
}

/* One character of valid UTF-8. */
static uint32_t take_character(const uint8_t **p)
{
    uint32_t c = *(*p)++;
    int      more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

    if (more > 0)
        c &= 0x3fU >> more;
    for (; more > 0; more--)
        c = c << 6 | (*(*p)++ & 0x3f);
    return c;
}

static bool has_upper(struct fl_slice name, bool *ascii)
{
    bool upper = false;

    *ascii = true;
    for (size_t i = 0; i < name.len; i++) {
        upper = upper || (name.at[i] >= 'A' && name.at[i] <= 'Z');
        *ascii = *ascii && name.at[i] < 0x80;
    }
    return upper;
}

struct fl_slice kms_lower(struct fl_arena *a, struct fl_slice name)
{
    bool           ascii, upper = has_upper(name, &ascii);
    const uint8_t *p = name.at, *end = name.at + name.len;
    uint8_t       *to, *begin;

    if ((ascii && !upper) || (!ascii && !fl_utf8_valid(name)))
        return name;
    /* A lower-case form may take a byte more: U+0130 becomes i and a dot in Java; towlower keeps it to one character.
     */
    if ((begin = to = fl_arena_take(a, name.len * 2)) == NULL)
        return (struct fl_slice){ NULL, 0 };
    while (p < end)
        to = kms_utf8_put(to, lower(take_character(&p)));
    return fl_slice_of(begin, (size_t)(to - begin));
}

static const struct key *find(struct kms_call *c, struct fl_slice name)
{
    const struct key *key = keys_find(c->kms->keys, name);
    struct fl_slice   low;

    if (key != NULL)
        return key;
    low = kms_lower(c->arena, name);
    return low.at == NULL || low.at == name.at ? NULL : keys_find(c->kms->keys, low);
}

static const struct key *find_version(struct kms_call *c, struct fl_slice version_name, uint32_t *version)
{
    struct fl_slice name;

    if (key_version_split(version_name, &name, version, NULL) != FL_OK || *version == UINT32_MAX)
        return NULL;
    if (keys_find_version(c->kms->keys, version_name, version) == NULL) {
        struct fl_slice low = kms_lower(c->arena, version_name);

        return low.at == NULL || low.at == version_name.at ? NULL : keys_find_version(c->kms->keys, low, version);
    }
    return keys_find_version(c->kms->keys, version_name, version);
}

bool kms_is_version_name(struct kms_call *c, struct fl_slice name)
{
    uint32_t version;

    return find_version(c, name, &version) != NULL;
}

/* prefix: what Java puts in front where it throws again. */
static FL_CHECKED bool find_key(struct kms_call *c, struct fl_slice name, const char *prefix, const struct key **key)
{
    *key = find(c, name);
    if (*key != NULL || fl_slice_find(name, '@') == SIZE_MAX || !kms_is_version_name(c, name))
        return true;
    kms_refuse(c, KMS_F_IO,
               "%sCan't cast key for %.*s in keystore %s to a KeyMetadata. Key may have been added using  keytool or "
               "some other non-Hadoop method.",
               prefix, FL_SLICE_ARGS(name), c->kms->provider_uri);
    return false;
}

bool kms_find_key(struct kms_call *c, struct fl_slice name, const struct key **key)
{
    return find_key(c, name, "", key);
}

bool kms_find_key_inside(struct kms_call *c, struct fl_slice name, const struct key **key)
{
    return find_key(c, name, "java.io.IOException: ", key);
}

bool kms_find_version(struct kms_call *c, struct fl_slice version_name, const struct key **key, uint32_t *version,
                      struct fl_slice *name)
{
    *name = version_name;
    *key = find_version(c, version_name, version);
    if (*key != NULL) {
        name->len = fl_slice_find_last(version_name, '@');
        return true;
    }
    if (find(c, version_name) == NULL)
        return true;
    kms_refuse(c, KMS_F_UNCHECKED,
               "java.lang.ClassCastException: class org.apache.hadoop.crypto.key.JavaKeyStoreProvider$KeyMetadata "
               "cannot be cast to class javax.crypto.spec.SecretKeySpec");
    return false;
}
