#include "auth/proxy_inside.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>

#include "auth/strmap.h"

enum { MOST_RULES = 10000, ADDRESS_TEXT = 64 };

struct address { /* IPv4 as ::ffff:a.b.c.d, so that both are told apart from each other by their bytes alone */
    uint8_t at[16];
};
struct net {
    struct address address;
    unsigned       bits; /* leading bits that must agree: 128 for one address */
};
struct proxy_net {
    struct net *at;
    size_t      count;
    bool        everywhere;
};
struct rule {
    bool             anybody;
    uint32_t         groups; /* how many are named */
    struct proxy_net hosts;
};
struct auth_proxies {
    struct fl_arena    arena; /* names */
    struct rule       *rules;
    size_t             count;
    struct auth_strmap by_real; /* short name of the real user to rule */
    struct auth_strmap members; /* (rule, user or group; name) */
};
enum member_kind { A_USER, A_GROUP };

struct parsing {
    struct auth_proxies *p;
    proxy_resolver       resolve;
    const char          *text; /* the rule, for sentences */
    uint32_t             index;
    struct fl_error     *err;
};

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static struct address address_of(const uint8_t *bytes, size_t len)
{
    struct address a = { { [10] = 0xff, [11] = 0xff } };

    memcpy(a.at + sizeof a.at - len, bytes, len);
    return a;
}

bool proxy_net_add(struct proxy_net *n, const uint8_t *address, size_t len, unsigned bits)
{
    struct net *at = realloc(n->at, (n->count + 1) * sizeof *at);

    if (at == NULL)
        return false;
    n->at = at;
    n->at[n->count++] = (struct net){ address_of(address, len), bits + (len == 4 ? 96 : 0) };
    return true;
}

static bool inside(const struct net *n, const struct address *a)
{
    unsigned whole = n->bits / 8, rest = n->bits % 8;

    if (!fl_slice_equal(fl_slice_of(n->address.at, whole), fl_slice_of(a->at, whole)))
        return false;
    return rest == 0 || (n->address.at[whole] ^ a->at[whole]) >> (8 - rest) == 0;
}

/* 4 or 16 bytes into out, or 0: no address. */
static size_t parse_address(const char *text, uint8_t out[16])
{
    if (inet_pton(AF_INET, text, out) == 1)
        return 4;
    return inet_pton(AF_INET6, text, out) == 1 ? 16 : 0;
}

static enum fl_status resolve_by_system(const char *host, struct proxy_net *into, struct fl_error *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
    int             code = getaddrinfo(host, NULL, &hints, &list);
    bool            stored = true;

    if (code != 0)
        return fl_fail(err, FL_USAGE, 0, "cannot resolve host '%s': %s", host, gai_strerror(code));
    for (const struct addrinfo *a = list; a != NULL && stored; a = a->ai_next) {
        if (a->ai_family == AF_INET)
            stored = proxy_net_add(into, (const uint8_t *)&((struct sockaddr_in *)(void *)a->ai_addr)->sin_addr, 4, 32);
        else if (a->ai_family == AF_INET6)
            stored =
                proxy_net_add(into, (const uint8_t *)&((struct sockaddr_in6 *)(void *)a->ai_addr)->sin6_addr, 16, 128);
    }
    freeaddrinfo(list);
    return stored ? FL_OK : fl_fail(err, FL_NO_MEMORY, 0, "no memory for the addresses of '%s'", host);
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static enum fl_status refuse(struct parsing *g, const char *field, struct fl_slice value, const char *allowed)
{
    return fl_fail(g->err, FL_USAGE, 0, "proxy user rule '%s', %s: '%.*s', where %s", g->text, field,
                   FL_SLICE_ARGS(value), allowed);
}

static enum fl_status no_memory(struct parsing *g)
{
    return fl_fail(g->err, FL_NO_MEMORY, 0, "no memory for the proxy user rules");
}

/* "10.0.0.0/8": text is NUL-terminated and slash points into it. */
static enum fl_status add_network(struct parsing *g, struct proxy_net *into, char *text, char *slash)
{
    static const char allowed[] = "an IPv4 or IPv6 network like 10.0.0.0/8 is allowed";
    struct fl_slice   whole = fl_slice_str(text);
    uint8_t           bytes[16];
    unsigned          bits = 0;
    size_t            len;

    *slash = '\0';
    len = parse_address(text, bytes);
    *slash = '/';
    if (len == 0 || slash[1] == '\0')
        return refuse(g, "hosts", whole, allowed);
    for (const char *p = slash + 1; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || (bits = bits * 10 + (unsigned)(*p - '0')) > len * 8)
            return refuse(g, "hosts", whole, allowed);
    }
    return proxy_net_add(into, bytes, len, bits) ? FL_OK : no_memory(g);
}

static bool host_name(const char *text)
{
    for (const char *p = text; *p != '\0'; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
              strchr("-._", *p) != NULL))
            return false;
    return *text != '\0';
}

static enum fl_status add_host(struct parsing *g, struct fl_slice item)
{
    static const char allowed[] = "addresses, networks, host names and * are allowed";
    struct proxy_net *into = &g->p->rules[g->index].hosts;
    char              text[256], *slash;
    uint8_t           bytes[16];
    size_t            len;
    enum fl_status    s;

    if (fl_slice_equal(item, FL_LIT("*"))) {
        into->everywhere = true;
        return FL_OK;
    }
    if (item.len >= sizeof text || fl_slice_find(item, '\0') != SIZE_MAX)
        return refuse(g, "hosts", item, allowed);
    memcpy(text, item.at, item.len);
    text[item.len] = '\0';
    if ((slash = strchr(text, '/')) != NULL)
        return add_network(g, into, text, slash);
    if ((len = parse_address(text, bytes)) > 0)
        return proxy_net_add(into, bytes, len, (unsigned)len * 8) ? FL_OK : no_memory(g);
    if (!host_name(text))
        return refuse(g, "hosts", item, allowed);
    s = g->resolve(text, into, g->err);
    return s == FL_OK ? FL_OK : fl_fail_in(g->err, "proxy user rule '%s', hosts", g->text);
}

static enum fl_status add_member(struct parsing *g, enum member_kind kind, struct fl_slice name)
{
    struct rule *r = &g->p->rules[g->index];

    if (fl_slice_equal(name, FL_LIT("*"))) {
        r->anybody = true;
        return FL_OK;
    }
    name = fl_arena_copy(&g->p->arena, name);
    if (name.at == NULL || !auth_strmap_put(&g->p->members, g->index * 2 + kind, name, 1))
        return no_memory(g);
    r->groups += kind == A_GROUP;
    return FL_OK;
}

static enum fl_status add_user(struct parsing *g, struct fl_slice name)
{
    return add_member(g, A_USER, name);
}

static enum fl_status add_group(struct parsing *g, struct fl_slice name)
{
    return add_member(g, A_GROUP, name);
}

/* Up to the byte, which is taken too. */
static struct fl_slice next_part(struct fl_slice *rest, uint8_t until)
{
    size_t          end = fl_slice_find(*rest, until);
    struct fl_slice part = fl_slice_of(rest->at, end == SIZE_MAX ? rest->len : end);

    *rest = end == SIZE_MAX ? fl_slice_from(*rest, rest->len) : fl_slice_from(*rest, end + 1);
    return fl_slice_trim(part);
}

static enum fl_status parse_list(struct parsing *g, struct fl_slice list,
                                 enum fl_status (*add)(struct parsing *g, struct fl_slice item))
{
    while (list.len > 0) {
        struct fl_slice item = next_part(&list, ',');
        enum fl_status  s = item.len == 0 ? FL_OK : add(g, item);

        if (s != FL_OK)
            return s;
    }
    return FL_OK;
}

static enum fl_status parse_field(struct parsing *g, struct fl_slice field, unsigned *seen)
{
    static const struct {
        const char *name;
        enum fl_status (*add)(struct parsing *g, struct fl_slice item);
    } fields[] = { { "users", add_user }, { "groups", add_group }, { "hosts", add_host } };
    size_t          equals = fl_slice_find(field, '=');
    struct fl_slice name = fl_slice_trim(fl_slice_of(field.at, equals == SIZE_MAX ? field.len : equals));

    for (unsigned i = 0; i < FL_COUNT(fields) && equals != SIZE_MAX; i++) {
        if (!fl_slice_equal(name, fl_slice_str(fields[i].name)))
            continue;
        if ((*seen & 1u << i) != 0)
            return refuse(g, fields[i].name, field, "each field may stand once");
        *seen |= 1u << i;
        return parse_list(g, fl_slice_from(field, equals + 1), fields[i].add);
    }
    return refuse(g, "field", name, "users=, groups= and hosts= are allowed");
}

static enum fl_status parse_rule(struct parsing *g)
{
    struct fl_slice rest = fl_slice_str(g->text), real;
    unsigned        seen = 0;
    uint32_t        other;
    enum fl_status  s = FL_OK;

    if (fl_slice_find(rest, ':') == SIZE_MAX)
        return refuse(g, "user", rest, "NAME:users=…;groups=…;hosts=… is allowed");
    real = next_part(&rest, ':');
    if (real.len == 0 || auth_short_name(real).len != real.len)
        return refuse(g, "user", real, "a short name without '@' and '/' is allowed");
    if (auth_strmap_get(&g->p->by_real, 0, real, &other))
        return refuse(g, "user", real, "one rule a user is allowed");
    real = fl_arena_copy(&g->p->arena, real);
    if (real.at == NULL || !auth_strmap_put(&g->p->by_real, 0, real, g->index))
        return no_memory(g);
    while (rest.len > 0 && s == FL_OK) {
        struct fl_slice field = next_part(&rest, ';');

        if (field.len > 0)
            s = parse_field(g, field, &seen);
    }
    return s;
}

enum fl_status proxies_new_with(struct auth_proxies **out, const struct fl_strings *rules, proxy_resolver resolve,
                                struct fl_error *err)
{
    struct fl_error ignored = { FL_OK, 0, "" };
    struct parsing  g = { .p = calloc(1, sizeof *g.p), .resolve = resolve, .err = err == NULL ? &ignored : err };
    size_t          count = rules == NULL ? 0 : rules->count;
    enum fl_status  s = FL_OK;

    if (g.p == NULL)
        return no_memory(&g);
    fl_arena_init(&g.p->arena, 4096, 64 * 1024 * 1024);
    g.p->rules = calloc(count + 1, sizeof *g.p->rules);
    if (g.p->rules == NULL)
        s = no_memory(&g);
    else if (count > MOST_RULES)
        s = fl_fail(g.err, FL_USAGE, 0, "%zu proxy user rules, where at most %d are allowed", count, MOST_RULES);
    for (size_t i = 0; i < count && s == FL_OK; i++) {
        g.text = rules->at[i];
        g.index = (uint32_t)i;
        g.p->count = i + 1;
        s = parse_rule(&g);
    }
    if (s == FL_OK)
        *out = g.p;
    else
        auth_proxies_free(g.p);
    return s;
}

enum fl_status auth_proxies_new(struct auth_proxies **out, const struct fl_strings *rules, struct fl_error *err)
{
    return proxies_new_with(out, rules, resolve_by_system, err);
}

void auth_proxies_free(struct auth_proxies *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->count; i++)
        free(p->rules[i].hosts.at);
    free(p->rules);
    auth_strmap_done(&p->by_real);
    auth_strmap_done(&p->members);
    fl_arena_done(&p->arena);
    free(p);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static const struct rule *rule_of(const struct auth_proxies *p, struct fl_slice real_short, uint32_t *index)
{
    return auth_strmap_get(&p->by_real, 0, real_short, index) ? &p->rules[*index] : NULL;
}

enum acl_answer auth_proxy_user_allowed(const struct auth_proxies *p, struct fl_slice real_short, struct fl_slice do_as,
                                        const struct auth_group_list *groups)
{
    uint32_t           index, unused;
    const struct rule *r = rule_of(p, real_short, &index);

    if (r == NULL)
        return ACL_NO;
    if (r->anybody || auth_strmap_get(&p->members, index * 2 + A_USER, auth_short_name(do_as), &unused))
        return ACL_YES;
    if (r->groups == 0)
        return ACL_NO;
    if (groups == NULL)
        return ACL_NEEDS_GROUPS;
    for (size_t i = 0; i < groups->count; i++)
        if (auth_strmap_get(&p->members, index * 2 + A_GROUP, fl_slice_str(groups->names[i]), &unused))
            return ACL_YES;
    return ACL_NO;
}

/* A peer that has no address (a Unix socket) is on no list but "*". */
bool auth_proxy_host_allowed(const struct auth_proxies *p, struct fl_slice real_short, const char *peer_ip)
{
    uint32_t           index;
    const struct rule *r = rule_of(p, real_short, &index);
    char               text[ADDRESS_TEXT];
    uint8_t            bytes[16];
    struct address     peer;
    size_t             len;

    if (r == NULL)
        return false;
    if (r->hosts.everywhere)
        return true;
    snprintf(text, sizeof text, "%s", peer_ip);
    text[strcspn(text, "%")] = '\0'; /* a link-local peer names its interface */
    len = parse_address(text, bytes);
    if (len == 0)
        return false;
    peer = address_of(bytes, len);
    for (size_t i = 0; i < r->hosts.count; i++)
        if (inside(&r->hosts.at[i], &peer))
            return true;
    return false;
}
