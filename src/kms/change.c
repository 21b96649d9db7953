#include "kms/change.h"

#include "kms/json_write.h"

static struct fl_slice keep(uint8_t **at, struct fl_slice s)
{
    struct fl_slice kept = fl_slice_of(*at, s.len);

    if (s.len > 0)
        memcpy(*at, s.at, s.len);
    *at += s.len;
    return kept;
}

/* ---- the answers ------------------------------------------------------------------------------------------------- */

/* Raw in a path: RFC 3986's pchar and the slash. */
static bool path_byte(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c > ' ' && c < 0x7f && memchr("-._~!$&'()*+,;=:@/", c, 18) != NULL);
}

/* Java resolves the new key's URL against the wrong base, so that "keys/v1/" stands in the middle. Nobody follows it.
 */
static struct fl_slice location_of(struct kms_call *c, struct fl_slice name)
{
    struct fl_buf      *b = &c->here->text;
    struct io_listener *l = io_conn_listener(http_conn_of(c->x));

    fl_buf_clear(b);
    fl_buf_put_str(b, c->r->secure ? "Location: https://" : "Location: http://");
    if (c->r->host.len > 0 || l == NULL)
        fl_buf_put_slice(b, c->r->host);
    else
        fl_buf_put_str(b, io_listener_text(l));
    FL_BUF_LIT(b, "/kms/v1/keys/v1/key/");
    for (size_t i = 0; i < name.len; i++)
        if (path_byte(name.at[i]))
            fl_buf_put_byte(b, name.at[i]);
        else
            fl_buf_printf(b, "%%%02X", name.at[i]);
    FL_BUF_LIT(b, "\r\n");
    return fl_buf_slice(b);
}

static void answer_made(struct kms_call *c, const struct kms_change *j)
{
    struct fl_buf  *b = kms_body(c);
    struct fl_slice material = { NULL, 0 };
    bool            created = j->change.kind == KEY_CREATE;

    if (!j->strip && j->change.made != NULL)
        material = fl_secret_slice(j->change.made);
    kms_put_numbered_version(b, j->name, j->change.version, material);
    kms_send(c, &(struct kms_answer){ .status = created ? 201 : 200,
                                      .more = created ? location_of(c, j->name) : FL_LIT(""),
                                      .body = fl_buf_slice(b) });
}

static void answer_failed(struct kms_call *c, const struct kms_change *j)
{
    const char *uri = c->kms->provider_uri;

    switch (j->change.status) {
    case FL_EXISTS: kms_refuse(c, KMS_F_IO, "Key %.*s already exists in %s", FL_SLICE_ARGS(j->name), uri); break;
    case FL_NOT_FOUND:
        if (j->change.kind == KEY_DELETE)
            kms_refuse(c, KMS_F_IO, "Key %.*s does not exist in %s", FL_SLICE_ARGS(j->name), uri);
        else
            kms_refuse(c, KMS_F_IO, "Can't find Metadata for key %.*s", FL_SLICE_ARGS(j->name));
        break;
    case FL_BUSY:
    case FL_TIMEOUT:
    case FL_CLOSED: kms_refuse_text(c, KMS_F_BUSY, fl_slice_str(j->change.err.text)); break;
    default: kms_refuse_text(c, KMS_F_IO, fl_slice_str(j->change.err.text)); break;
    }
}

/* ---- on its way -------------------------------------------------------------------------------------------------- */

/* "UserProvidedMaterial:false NewVersion:k@1": only now the version is known. */
static struct fl_slice tail_of(struct kms_change *j)
{
    struct fl_buf *b = &j->here->text;

    if (j->change.kind != KEY_ROLL)
        return j->text;
    fl_buf_clear(b);
    fl_buf_put_slice(b, j->text);
    fl_buf_put_slice(b, j->name);
    fl_buf_printf(b, "@%u", j->change.version);
    return fl_buf_slice(b);
}

static size_t audit_bytes(const struct kms_change *j)
{
    enum { VERSION_DIGITS = 16 };

    return j->user.len + 2 * j->name.len + j->text.len + VERSION_DIGITS;
}

/* Room was kept before the change began: Java's client repeats at other servers what is answered as failed (9.3). */
static void audit(struct kms_change *j, int64_t now_ms)
{
    audit_let_go(j->kms->audit, j->here->index, audit_bytes(j));
    if (j->change.status == FL_OK)
        FL_IGNORE(audit_record(j->kms->audit, j->here->index, AUDIT_OK, j->op, NULL, j->name, j->user, tail_of(j),
                               now_ms)); /* it can't be refused */
}

static void answer(struct kms_call *c, struct kms_change *j)
{
    if (j->change.status != FL_OK)
        answer_failed(c, j);
    else if (j->change.kind == KEY_DELETE)
        kms_send_empty(c);
    else
        answer_made(c, j);
}

static void change_done(struct key_change *change)
{
    struct kms_change    *j = FL_CONTAINER(change, struct kms_change, change);
    struct http_exchange *x = http_unpark(j->ticket);

    audit(j, io_now_wall_ms(change->home));
    if (x != NULL) {
        j->call->x = x;
        j->call->now_ms = io_now_wall_ms(http_reactor_of(x));
        j->call->groups_known = false; /* what was found before parking is stale */
        answer(j->call, j);
    }
    key_change_done(change);
    free(j);
}

struct kms_change *kms_change_new(struct kms_call *c, enum key_change_kind kind, enum audit_op op, struct fl_slice text)
{
    struct fl_slice    name = c->route.name;
    struct kms_change *j = calloc(1, sizeof *j + c->user.len + name.len + text.len);
    uint8_t           *at;

    if (j == NULL) {
        kms_refuse_no_memory(c);
        return NULL;
    }
    at = (uint8_t *)(j + 1);
    j->change.kind = kind;
    j->change.home = http_reactor_of(c->x);
    j->change.done = change_done;
    j->kms = c->kms;
    j->call = c;
    j->here = c->here;
    j->op = op;
    j->user = keep(&at, c->user);
    j->name = keep(&at, name);
    j->text = keep(&at, text);
    return j;
}

static void give_up(struct kms_change *j)
{
    key_change_done(&j->change);
    free(j);
}

/* What led here is recorded even if the client doesn't wait for the end. False: refused. */
static FL_CHECKED bool prepare_audit(struct kms_call *c, const struct kms_change *j)
{
    if (!kms_write_notes(c))
        return false;
    if (audit_hold(c->kms->audit, c->here->index, audit_bytes(j)))
        return true;
    kms_refuse(c, KMS_F_BUSY, "The audit log takes no more records; nothing was changed");
    return false;
}

void kms_change_go(struct kms_call *c, struct kms_change *j)
{
    struct fl_error err;

    if (!prepare_audit(c, j)) {
        fl_secret_free(j->change.material);
        give_up(j);
        return;
    }
    if (keys_submit(c->kms->keys, &j->change, &err) != FL_OK) {
        j->change.status = err.status;
        j->change.err = err;
        audit(j, c->now_ms);
        answer_failed(c, j);
        give_up(j);
        return;
    }
    j->ticket = http_park(c->x);
}
