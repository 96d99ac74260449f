# Tokens per second against concurrency: a panel a topk, a line a kernel.
data = ARG1; out = ARG2; terminal_name = ARG3; title = ARG4; mark = ARG5
load ARG0[1:strlen(ARG0) - strlen("throughput.gp")]."style.gp"

rows_a_set = 1
legend_extra = 0
x_name = "concurrency"
@start_page
plot [0:1] [0:1] NaN notitle, \
    for [i = 1:words(lines)] keyentry \
        with linespoints linewidth line_width(i) linecolor rgb line_colour(i) pointtype line_point(i) pointsize line_size(i) title word(lines, i)
@start_panels

@log2_x
lo = 1e300
hi = -1e300
stats data using (see_positive(column("tokens_per_s"))) nooutput
@any_range
set logscale y 10
set yrange [lo / 1.5 : hi * 1.5]
set ytics ()
# Labels at 1, 2, 5 of a decade; fewer over many decades, more where one point or a flat line leaves less than one.
steps = hi / lo > 300 ? "1" : hi / lo > 4 ? "1 2 5" : "1 1.5 2 2.5 3 4 5 6 7 8 9"
count_text(n) = n < 1e3 ? sprintf("%g", n) : n < 1e6 ? sprintf("%gk", n / 1e3) : n < 1e9 ? sprintf("%gM", n / 1e6) : sprintf("%gG", n / 1e9)
do for [e = -6:12] {
    do for [m in steps] {
        set ytics add (count_text(m * 10.0**e) m * 10.0**e)
    }
}
set xlabel "concurrency (requests)"
set ylabel "throughput (tokens/s)"
r = 0
do for [p = 1:panel_count] {
    @place
    plot for [i = 1:words(lines)] data using "concurrency":(pick("tokens_per_s", p, i)) \
            with linespoints linewidth line_width(i) linecolor rgb line_colour(i) pointtype line_point(i) pointsize line_size(i) notitle
}
unset multiplot
