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
# A range of less than a decade still needs labels.
do for [e = -6:12] {
    do for [m in (hi / lo > 300 ? "1" : "1 2 5")] {
        set ytics add (gprintf("%.0s%c", m * 10.0**e) m * 10.0**e)
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
