#include "kernels/synth.h"

#include <string.h>

#include "kernels/layout.h"
#include "kernels/parallel.h"
#include "kernels/rng.h"
#include "kernels/synth_token.h"

struct pages {
    uint8_t *pool;
    uint32_t page_tokens;
    uint64_t stride_bytes, seed;
};

static void fill_page(void *context, uint64_t number)
{
    const struct pages *pages = context;
    uint8_t *page = pages->pool + number * pages->stride_bytes;
    uint8_t *scales = page + (uint64_t)pages->page_tokens * LAYOUT_ROW_BYTES;
    uint64_t used = (uint64_t)pages->page_tokens * LAYOUT_TOKEN_BYTES;
    struct synth_draw draw = {.rng = rng_stream(pages->seed, number)};

    for (uint32_t token = 0; token < pages->page_tokens; token++)
        synth_token_soft(&draw, page + (uint64_t)token * LAYOUT_ROW_BYTES,
                         scales + (uint64_t)token * LAYOUT_SCALE_BYTES);
    memset(page + used, 0xff, pages->stride_bytes - used);
}

void synth_fill_pages(uint8_t *pool, uint32_t pages, uint32_t page_tokens, uint64_t stride_bytes,
                      uint64_t seed)
{
    struct pages work = {pool, page_tokens, stride_bytes, seed};

    parallel_for(pages, 0, fill_page, &work);
}

void synth_fill_q(uint16_t *q, uint64_t count, uint64_t seed)
{
    struct rng rng = rng_stream(seed, 0);

    for (uint64_t i = 0; i < count; i++)
        q[i] = synth_token_bf16(rng_normal(&rng));
}

void synth_permutation(int32_t *slots, uint32_t count, uint64_t seed)
{
    struct rng rng = rng_stream(seed, 0);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = rng_below(&rng, i + 1);

        slots[i] = slots[j];
        slots[j] = (int32_t)i;
    }
}

/* 2^x for x <= 0, straight lines between whole exponents: exact, and close enough for a length. */
static double rough_power(double x)
{
    double power = 1;

    while (x < -1) {
        x += 1;
        power /= 2;
    }
    return power * (1 + x / 2);
}

/* The share of topk: 2^N(-2.5, 1.25), median 18 %, one in 44 full; one row in 32 each is 0 or 1. */
void synth_mixed_lengths(int32_t *lengths, uint32_t count, uint32_t topk, uint64_t seed)
{
    struct rng rng = rng_stream(seed, 0);

    for (uint32_t i = 0; i < count; i++) {
        double power = -2.5 + 1.25 * (double)rng_normal(&rng);
        uint32_t special = rng_below(&rng, 32);

        if (special < 2)
            lengths[i] = (int32_t)special;
        else
            lengths[i] = (int32_t)(topk * rough_power(power < 0 ? power : 0) + 0.5);
    }
}
