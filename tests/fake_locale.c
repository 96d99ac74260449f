/*
 * fake_locale: preloaded, it does what some libraries do to a program that never calls setlocale():
 * it takes over the user's locale.  Ends the program if that locale has no decimal comma, so that a
 * test cannot pass for want of one; but leaves alone what smscope starts with a locale of its
 * choice (gnuplot, by LC_ALL).
 */
#include <locale.h>
#include <stdlib.h>

static void __attribute__((constructor)) take_over(void)
{
    const char *chosen = getenv("LC_ALL");

    if (chosen && *chosen)
        return;
    if (!setlocale(LC_NUMERIC, "") || localeconv()->decimal_point[0] != ',')
        exit(99);
}
