#include "key/object.h"

/* The variable part of an object: attributes, slots, bytes, in this order, which keeps pointers aligned. */
static size_t bytes_for(const struct key *model, uint32_t version_count)
{
    size_t bytes = sizeof(struct key_object) + model->attribute_count * sizeof(struct key_attribute) +
                   version_count * sizeof(struct fl_secret *) + model->name.len + model->cipher.len +
                   model->description.len;

    for (size_t i = 0; i < model->attribute_count; i++)
        bytes += model->attributes[i].name.len + model->attributes[i].value.len;
    return bytes;
}

static struct fl_slice place(uint8_t **at, struct fl_slice s)
{
    struct fl_slice copy = { *at, s.len };

    if (s.len > 0)
        memcpy(*at, s.at, s.len);
    *at += s.len;
    return copy;
}

struct key_object *key_object_new(const struct key *model, uint32_t version_count)
{
    struct key_object    *o = calloc(1, bytes_for(model, version_count));
    struct key_attribute *attributes;
    uint8_t              *at;

    if (o == NULL)
        return NULL;
    attributes = (struct key_attribute *)(void *)(o + 1);
    o->slots = (struct fl_secret **)(void *)(attributes + model->attribute_count);
    at = (uint8_t *)(o->slots + version_count);
    o->owns_material = true;
    o->key = *model;
    o->key.version_count = version_count;
    o->key.versions = o->slots;
    o->key.attributes = attributes;
    o->key.name = place(&at, model->name);
    o->key.cipher = place(&at, model->cipher);
    o->key.description = place(&at, model->description);
    for (size_t i = 0; i < model->attribute_count; i++) {
        attributes[i].name = place(&at, model->attributes[i].name);
        attributes[i].value = place(&at, model->attributes[i].value);
    }
    return o;
}

void key_object_free(struct key_object *o)
{
    if (o == NULL)
        return;
    for (uint32_t i = 0; o->owns_material && i < o->key.version_count; i++)
        fl_secret_free(o->slots[i]);
    free(o);
}

void key_object_inherit(struct key_object *o, struct key_object *older)
{
    uint32_t count = FL_MIN(o->key.version_count, older->key.version_count);

    memcpy(o->slots, older->slots, count * sizeof *o->slots);
    older->owns_material = false;
}

static void free_after_grace(struct rcu_head *head)
{
    key_object_free(FL_CONTAINER(head, struct key_object, rcu));
}

void key_object_retire(struct key_object *o)
{
    fl_rcu_free(&o->rcu, free_after_grace);
}
