/* Ordinary answers: Hadoop's header block in its order, and the audit records before the answer. */
#include "kms/call.h"

#include <string.h>

enum { SCRATCH_KEPT = 1 << 20 }; /* a scratch buffer that grew beyond it is given back */

static struct fl_buf *cleared(struct fl_buf *b)
{
    if (b->cap > SCRATCH_KEPT) {
        size_t limit = b->limit;

        fl_buf_done(b);
        fl_buf_init(b, limit);
    }
    fl_buf_clear(b);
    return b;
}

struct fl_buf *kms_body(struct kms_call *c)
{
    return cleared(&c->here->body);
}

/* Date stands twice: once of the container, once of Hadoop's filter against caches. */
static void put_block(struct fl_buf *b, struct fl_slice date, const char *content_type)
{
    FL_BUF_LIT(b, "Date: ");
    fl_buf_put_slice(b, date);
    FL_BUF_LIT(b, "\r\nCache-Control: no-cache\r\nExpires: ");
    fl_buf_put_slice(b, date);
    FL_BUF_LIT(b, "\r\nDate: ");
    fl_buf_put_slice(b, date);
    FL_BUF_LIT(b, "\r\nPragma: no-cache\r\nContent-Type: ");
    fl_buf_put_str(b, content_type);
    FL_BUF_LIT(b, "\r\nX-Content-Type-Options: nosniff\r\nX-XSS-Protection: 1; mode=block\r\n");
}

/* The block of a JSON answer, made anew when the second has changed. */
static struct fl_slice json_block(struct kms_call *c)
{
    struct kms_reactor *h = c->here;
    struct fl_slice     date = http_date(http_reactor_of(c->x));

    if (date.len > sizeof h->block_date || h->block_len == 0 || memcmp(h->block_date, date.at, date.len) != 0) {
        struct fl_buf *b = cleared(&h->head);

        put_block(b, date, "application/json");
        if (b->failed || b->data == NULL || fl_buf_len(b) > sizeof h->block || date.len > sizeof h->block_date)
            return fl_buf_slice(b);
        h->block_len = fl_buf_len(b);
        memcpy(h->block, fl_buf_slice(b).at, h->block_len);
        memcpy(h->block_date, date.at, date.len);
    }
    return fl_slice_of(h->block, h->block_len);
}

static struct fl_slice head_of(struct kms_call *c, const struct kms_answer *a)
{
    struct fl_buf *b;

    if (a->content_type == NULL && a->challenge == NULL && a->more.len == 0 && !c->set_cookie)
        return json_block(c);
    b = cleared(&c->here->head);
    put_block(b, http_date(http_reactor_of(c->x)), a->content_type == NULL ? "application/json" : a->content_type);
    if (a->challenge != NULL)
        fl_buf_printf(b, "WWW-Authenticate: %s\r\n", a->challenge);
    if (c->set_cookie)
        auth_cookie_put_over(c->kms->cookies, &c->cookie, c->now_ms, c->r->secure, b);
    fl_buf_put_slice(b, a->more);
    return fl_buf_slice(b);
}

static bool write_notes(struct kms_call *c)
{
    if (c->notes_lost)
        return false;
    for (size_t i = 0; i < c->note_count; i++) {
        const struct kms_note *n = &c->notes[i];

        if (!audit_record(c->kms->audit, c->here->index, n->status, n->op, n->level2_op, n->key, n->user, n->text,
                          c->now_ms))
            return false;
    }
    c->note_count = 0;
    return true;
}

bool kms_write_notes(struct kms_call *c)
{
    if (write_notes(c))
        return true;
    c->note_count = 0;
    c->notes_lost = false;
    kms_refuse(c, KMS_F_BUSY, "The audit log takes no more records; the answer is withheld");
    return false;
}

static void count(struct kms_call *c, int status)
{
    if (status != 200 && status != 201 && status != 401)
        kms_meter(c, KMS_M_INVALID);
    if (status == 401)
        kms_meter(c, KMS_M_UNAUTHENTICATED);
}

static void write_answer(struct kms_call *c, const struct kms_answer *a)
{
    struct fl_slice head = head_of(c, a);
    struct fl_buf  *body = &c->here->body;

    count(c, a->status);
    if (c->here->head.failed || (a->body.at == body->data && body->failed))
        http_answer_close(c->x, 500, FL_LIT("Server Error"), FL_LIT(""), FL_LIT(""));
    else
        http_answer(c->x, a->status, a->reason, head, a->body);
}

void kms_send(struct kms_call *c, const struct kms_answer *a)
{
    struct fl_buf *body = &c->here->body;

    if (!kms_write_notes(c))
        return;
    write_answer(c, a);
    if (body->write > 0)
        fl_wipe(body->data, body->write); /* it may have held material */
    fl_buf_clear(body);
}

void kms_send_json(struct kms_call *c, struct fl_buf *body)
{
    kms_send(c, &(struct kms_answer){ .status = 200, .body = fl_buf_slice(body) });
}

void kms_send_empty(struct kms_call *c)
{
    kms_send(c, &(struct kms_answer){ .status = 200, .content_type = "text/plain;charset=utf-8" });
}

enum { REASON_MAX = 1024 }; /* Jetty's */

/* The reason phrase goes out in ISO-8859-1; what that lacks becomes '?'. Into the arena; the text itself if that is
 * full or nothing needs changing. */
static struct fl_slice reason_of(struct kms_call *c, struct fl_slice text)
{
    uint8_t *to;
    size_t   n = 0;
    bool     ascii = text.len <= REASON_MAX;

    for (size_t i = 0; ascii && i < text.len; i++)
        ascii = text.at[i] < 0x80;
    if (ascii || (to = fl_arena_take(c->arena, REASON_MAX)) == NULL)
        return text;
    for (size_t i = 0; i < text.len && n < REASON_MAX; i++) {
        uint8_t b = text.at[i];

        if ((b == 0xc2 || b == 0xc3) && i + 1 < text.len)
            to[n++] = (uint8_t)((b & 3) << 6 | (text.at[++i] & 0x3f));
        else if (b < 0x80)
            to[n++] = b;
        else if (b >= 0xc0)
            to[n++] = '?';
    }
    return fl_slice_of(to, n);
}

/* ---- the container's answers ------------------------------------------------------------------------------------- */

static bool has_page(enum http_method m)
{
    return m == HTTP_GET || m == HTTP_POST || m == HTTP_HEAD;
}

static struct fl_slice page_head(struct kms_call *c, const struct kms_page *p, const char *content_type)
{
    struct fl_buf *b = cleared(&c->here->head);

    if (!p->outside)
        FL_BUF_LIT(b, "Pragma: no-cache\r\n");
    FL_BUF_LIT(b, "X-Content-Type-Options: nosniff\r\nX-XSS-Protection: 1; mode=block\r\n");
    if (p->challenge != NULL)
        fl_buf_printf(b, "WWW-Authenticate: %s\r\n", p->challenge);
    if (p->clear_cookie || c->set_cookie)
        auth_cookie_put_over(c->kms->cookies, p->clear_cookie ? NULL : &c->cookie, c->now_ms, c->r->secure, b);
    if (has_page(c->r->method))
        FL_BUF_LIT(b, "Cache-Control: must-revalidate,no-cache,no-store\r\n");
    if (p->allow != NULL)
        fl_buf_printf(b, "Content-Type: text/plain;charset=utf-8\r\nAllow: %s\r\n", p->allow);
    if (content_type != NULL)
        fl_buf_printf(b, "Content-Type: %s\r\n", content_type);
    return fl_buf_slice(b);
}

void kms_send_page(struct kms_call *c, const struct kms_page *p)
{
    struct fl_buf  *body = kms_body(c);
    const char     *type = has_page(c->r->method) ? kms_page_put(c, p, body) : NULL;
    struct fl_slice head = page_head(c, p, type), reason;

    if (!kms_write_notes(c))
        return;
    reason = reason_of(c, p->reason.len > 0 ? p->reason : p->message);
    if (!p->thrown && !p->outside) /* Java's filter, which counts, sees neither */
        count(c, p->status);
    if (p->thrown || head.at == NULL || body->failed)
        http_answer_close(c->x, p->status, reason, head, fl_buf_slice(body));
    else
        http_answer(c->x, p->status, reason, head, fl_buf_slice(body));
}

void kms_send_bad_message(struct kms_call *c, struct fl_slice reason)
{
    struct fl_buf *b = kms_body(c);

    FL_BUF_LIT(b, "<h1>Bad Message 400</h1><pre>reason: ");
    fl_buf_put_slice(b, reason);
    FL_BUF_LIT(b, "</pre>");
    http_answer_close(c->x, 400, reason, FL_LIT("Content-Type: text/html;charset=iso-8859-1\r\n"), fl_buf_slice(b));
}
