# Achieved and theoretical occupancy against batch: a panel a topk, two lines a kernel.
data = ARG1; out = ARG2; terminal_name = ARG3; title = ARG4; mark = ARG5
load ARG0[1:strlen(ARG0) - strlen("occupancy.gp")]."style.gp"

rows_a_set = 1
legend_extra = 2
x_name = "batch"
@start_page
plot [0:1] [0:1] NaN notitle, \
    for [i = 1:words(lines)] keyentry \
        with linespoints linewidth line_width(i) linecolor rgb line_colour(i) pointtype line_point(i) pointsize line_size(i) title word(lines, i), \
    keyentry with linespoints linewidth 2 linecolor rgb "#606060" pointtype 7 title "achieved", \
    keyentry with lines linewidth 1.5 dashtype 2 linecolor rgb "#606060" title "theoretical"
@start_panels

@log2_x
lo = 1e300
hi = -1e300
stats data using (see(column("achieved_occupancy_pct"))) nooutput
if (hi < lo) { set label 3 "achieved: not measured" at graph 0.5, 0.06 center textcolor rgb "#606060" }
stats data using (see(column("theoretical_occupancy_pct"))) nooutput
@linear_y
set xlabel "batch (rows of a launch)"
set ylabel "resident warps of the SM's maximum (%)"
r = 0
do for [p = 1:panel_count] {
    @place
    plot for [i = 1:words(lines)] data using "batch":(pick("theoretical_occupancy_pct", p, i)) \
            with lines linewidth 1.5 dashtype 2 linecolor rgb line_colour(i) notitle, \
        for [i = 1:words(lines)] data using "batch":(pick("achieved_occupancy_pct", p, i)) \
            with linespoints linewidth line_width(i) linecolor rgb line_colour(i) pointtype line_point(i) pointsize line_size(i) notitle
}
unset multiplot
