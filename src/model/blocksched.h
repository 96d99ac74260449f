/*
 * blocksched: places the blocks of one launch on the SMs and follows them to the end.
 *
 * Placement: blocks go out in order, each to the SM that holds the fewest, as soon as one has room.
 * Speed: the blocks of an SM share it equally.  `saturating` blocks fill its units; up to that many
 * do not slow each other, with k of them each runs at saturating / k of its speed alone.  So an SM
 * that is throttled by its units is busy for as long as the work it was given takes, and an SM
 * whose blocks wait for memory runs a few as fast as one.
 *
 * Known answer: 1,000 equal blocks of 256 FMA threads on 132 SMs that hold 8 each (one H200,
 * sm__cycles_active.sum / .max) counted 126.4 busy SMs; sharing (76 SMs have 8, 56 have 7) says
 * 1000 / 8 = 125, blocks that do not slow each other would say 132.
 *
 * All values are exact for these rules; SMs start together.
 */
#ifndef MODEL_BLOCKSCHED_H
#define MODEL_BLOCKSCHED_H

#include <stdint.h>

struct blocksched {
    double waves;      /* blocks / (SMs x resident blocks) */
    uint32_t sms_used; /* SMs that ran a block */
    double busy_sms;   /* sum of the SMs' busy time / the busiest SM's */
    double fill_pct;   /* 100 x sum of busy time / (SMs x length of the launch) */
    double tail_pct;   /* share of the launch after the first SM, of those that ran a block, has run
                          out of blocks for good; SMs that never had one show in sms_used */
    double length;     /* in units of one block's time alone on its SM (or of the weights) */
    uint32_t blocks_max, blocks_min; /* blocks an SM ran in all, SMs without one included */
    double achieved_pct_of_resident; /* time-averaged resident blocks / resident limit, while an SM
                                        is active; x theoretical occupancy = achieved occupancy */
};

/*
 * weights: NULL for equal blocks (closed form, any number), else `blocks` times > 0 of the blocks
 * alone (simulated; time grows with blocks x sm_count).  saturating > 0: 1 where a block fills an
 * SM's units on its own, else e.g. roofline_launch's saturating_blocks.  resident >= 1,
 * sm_count >= 1, blocks >= 1.
 */
void blocksched_run(struct blocksched *sched, uint32_t sm_count, int resident, uint64_t blocks,
                    const float *weights, double saturating);

#endif
