/*
 * rng: seeded random numbers that are the same on every machine.
 *
 * splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).  Only
 * integer arithmetic and exact conversions, no libm, so that a seed means the same data everywhere.
 */
#ifndef KERNELS_RNG_H
#define KERNELS_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* The stream of a number: streams of one seed, and those of two seeds, are unrelated. */
static inline struct rng rng_stream(uint64_t seed, uint64_t stream)
{
    struct rng rng = {rng_mix(rng_mix(seed + 0x9e3779b97f4a7c15) + stream * 0xd1342543de82ef95)};
    return rng;
}

static inline uint64_t rng_next(struct rng *rng)
{
    return rng_mix(rng->state += 0x9e3779b97f4a7c15);
}

/* 0 .. bound - 1; the bias of at most bound / 2^32 does not matter here. */
static inline uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    return (uint32_t)((rng_next(rng) >> 32) * bound >> 32);
}

/*
 * N(0,1) as the sum of twelve uniform 16-bit numbers: exact, mean 0, variance 1 - 2^-32, within
 * +-6.  The twelve are added two at a time in the halves of a word.
 */
static inline float rng_normal(struct rng *rng)
{
    const uint64_t halves = 0x0000ffff0000ffff;
    uint64_t a = rng_next(rng), b = rng_next(rng), c = rng_next(rng);
    uint64_t sum = (a & halves) + (a >> 16 & halves) + (b & halves) + (b >> 16 & halves) +
                   (c & halves) + (c >> 16 & halves);
    int32_t total = (int32_t)((sum & 0xffffffff) + (sum >> 32));

    return (float)(total - 393210) * 0x1p-16f; /* 12 x 32767.5 */
}

#endif
