/*
 * near: assert_near(got, want, tolerance) for doubles, which cmocka 1.1 cannot compare.  Include it
 * after cmocka.h. A NaN is near nothing.
 */
#ifndef TESTS_NEAR_H
#define TESTS_NEAR_H

#include <math.h>

#define assert_near(got, want, tolerance)                                  \
    do {                                                                   \
        double near_got = (got), near_want = (want);                       \
        if (!(fabs(near_got - near_want) <= (tolerance)))                  \
            fail_msg("%s is %.17g, not %.17g", #got, near_got, near_want); \
    } while (0)

#endif
