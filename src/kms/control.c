#include "kms/control.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

struct kms_control {
    struct kms          *kms;
    struct http_service *http;
    struct io_listener  *listener;
};

struct backup {
    struct io_work     work;
    struct http_ticket ticket;
    struct store      *store;
    char              *file;
    enum fl_status     status;
    struct fl_error    err;
};

static void answer(struct http_exchange *x, int status, const char *sentence)
{
    http_answer(x, status, FL_LIT(""), FL_LIT("Content-Type: text/plain;charset=utf-8\r\n"), fl_slice_str(sentence));
}

static void run_backup(struct io_work *w)
{
    struct backup *b = FL_CONTAINER(w, struct backup, work);

    b->status = store_backup(b->store, b->file, &b->err);
}

static void end_backup(struct io_work *w)
{
    struct backup        *b = FL_CONTAINER(w, struct backup, work);
    struct http_exchange *x = http_unpark(b->ticket);

    if (b->status == FL_OK)
        fl_info("kms", "backup written to %s", b->file);
    else
        fl_err("kms", "backup to %s: %s", b->file, b->err.text);
    if (x != NULL)
        answer(x, b->status == FL_OK ? 200 : b->status == FL_EXISTS ? 409 : 500, b->status == FL_OK ? "" : b->err.text);
    free(b->file);
    free(b);
}

static void start_backup(struct kms_control *c, struct http_exchange *x, struct fl_slice file)
{
    struct backup  *b = calloc(1, sizeof *b);
    struct fl_error err;

    if (b == NULL || (b->file = fl_slice_dup(file)) == NULL) {
        free(b);
        answer(x, 503, "no memory for a backup");
        return;
    }
    b->work = (struct io_work){ .run = run_backup, .done = end_backup };
    b->store = c->kms->store;
    if (io_work_submit(http_reactor_of(x), &b->work, &err) == FL_OK) {
        b->ticket = http_park(x);
        return;
    }
    free(b->file);
    free(b);
    answer(x, 503, err.text);
}

static void handle(struct http_exchange *x, void *owner)
{
    const struct http_request *r = http_request_of(x);
    struct fl_slice            file;
    struct fl_error            err;
    bool                       found;

    if (!fl_slice_equal(r->path, FL_LIT("/backup")))
        answer(x, 404, "/backup is what there is");
    else if (r->method != HTTP_POST)
        answer(x, 405, "POST is expected");
    else if (http_query_find(r, "file", false, &found, &file, &err) != FL_OK)
        answer(x, 400, err.text);
    else if (!found || file.len == 0 || file.at[0] != '/' || fl_slice_find(file, '\0') != SIZE_MAX)
        answer(x, 400, "file= an absolute path is expected");
    else
        start_backup(owner, x, file);
}

enum fl_status kms_control_open(struct kms_control **out, struct kms *k, struct fl_error *err)
{
    struct io_listen_config listen = { .protocol = http_protocol() };
    FL_AUTO_MEM char       *bind = NULL;
    struct kms_control     *c;
    enum fl_status          s;

    *out = NULL;
    if (k->store == NULL)
        return FL_OK;
    if ((c = calloc(1, sizeof *c)) == NULL || asprintf(&bind, "unix:%s/control.sock", k->config.data_dir) < 0) {
        free(c);
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the control socket");
    }
    c->kms = k;
    if ((s = http_service_new(&c->http, &(struct http_limits){ 0 }, handle, c, err)) == FL_OK) {
        listen.bind = bind;
        listen.owner = c->http;
        s = io_listen(k->reactors, &listen, &c->listener, err);
    }
    if (s != FL_OK) {
        kms_control_free(c);
        return s;
    }
    *out = c;
    return FL_OK;
}

void kms_control_free(struct kms_control *c)
{
    if (c != NULL)
        http_service_free(c->http);
    free(c);
}
