/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame parser and the cursor under it. The payload of each frame is read twice: by a program of
 * getters that its own bytes choose, and as a list of words.
 */
#include "fuzz.h"

/* An incomplete frame must stay incomplete, a broken one must be broken from its header on. */
static void check_prefixes(const uint8_t *data, size_t size)
{
    struct hf_frame frame;
    ssize_t whole = hf__frame_parse(data, size, &frame);
    for (size_t cut = 0; cut < size && cut <= HF_FRAME_HEADER + 4; cut++) {
        ssize_t part = hf__frame_parse(data, cut, &frame);
        if (cut < HF_FRAME_HEADER)
            CHECK(part == 0);
        else if (whole < 0)
            CHECK(part < 0);
        else if (whole == 0 || (size_t)whole > cut)
            CHECK(part == 0);
        else
            CHECK(part == whole);
    }
}

static void read_fields(const struct hf_frame *frame)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    while (!in.bad && in.left > 0) {
        size_t before = in.left;
        switch (hf__get_u8(&in) % 5) {
        case 0:
            (void)hf__get_u8(&in);
            break;
        case 1:
            (void)hf__get_u32(&in);
            break;
        case 2:
            (void)hf__get_u64(&in);
            break;
        case 3: {
            const char *text = hf__get_string(&in);
            if (!in.bad)
                fuzz_check_string(frame, text);
            else
                CHECK(text[0] == '\0');
            break;
        }
        default: {
            struct hf_words words = hf__get_words(&in);
            if (!in.bad)
                fuzz_check_words(frame, words);
            else
                CHECK(words.count == 0);
            break;
        }
        }
        CHECK(in.left < before);
    }
    /* Bad once is bad for good, and gives zeros. */
    if (in.bad) {
        CHECK(hf__get_u64(&in) == 0 && hf__get_u8(&in) == 0);
        CHECK(!hf__cursor_done(&in));
    }
}

static void read_words(const struct hf_frame *frame)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    struct hf_words words = hf__get_words(&in);
    if (in.bad)
        return;
    fuzz_check_words(frame, words);
    if (!hf__cursor_done(&in))
        return;
    struct hf_buf again = HF_BUF(2 * HF_MAX_FRAME);
    char **vector = hf__words_vector(words);
    CHECK(vector != NULL);
    size_t mark = hf__frame_begin(&again, frame->type, frame->channel);
    hf__put_words(&again, (const char *const *)vector);
    hf__frame_end(&again, mark);
    free(vector);
    fuzz_check_same(frame, &again);
}

static void on_frame(const struct hf_frame *frame)
{
    read_fields(frame);
    read_words(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_prefixes(data, size);
    fuzz_stream(data, size, on_frame);
    return 0;
}
