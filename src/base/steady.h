/*
 * steady: seconds of a clock that nobody sets, for stretches of time and deadlines.
 */
#ifndef BASE_STEADY_H
#define BASE_STEADY_H

double steady_now_s(void); /* CLOCK_MONOTONIC: the same clock in a child as in its parent */

#endif
