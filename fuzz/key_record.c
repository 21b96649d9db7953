/* The two decoders of key/record.h. What decodes encodes to the same bytes: a key has one record. The first byte of the
 * input chooses the decoder. */
#include "key/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void try_key(struct fl_slice record)
{
    struct key    k;
    struct fl_buf again;

    if (key_record_decode(record, &k, NULL) != FL_OK)
        return;
    fl_buf_init(&again, 0);
    if (!key_record_put(&again, &k) || !fl_slice_equal(fl_buf_slice(&again), record))
        abort();
    fl_buf_done(&again);
    key_record_done(&k);
}

static void try_version(struct fl_slice record)
{
    struct key_version_record v;
    struct fl_buf             again;

    if (key_version_decode(record, &v, NULL) != FL_OK)
        return;
    fl_buf_init(&again, 0);
    if (!key_version_put(&again, v.name, v.number, v.material) || !fl_slice_equal(fl_buf_slice(&again), record))
        abort();
    fl_buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0)
        return 0;
    if (data[0] % 2 == 0)
        try_key(fl_slice_of(data + 1, len - 1));
    else
        try_version(fl_slice_of(data + 1, len - 1));
    return 0;
}
