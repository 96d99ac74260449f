# How often the KV entries are read from L2, against batch: a panel a topk, a line a kernel.
data = ARG1; out = ARG2; terminal_name = ARG3; title = ARG4; mark = ARG5
load ARG0[1:strlen(ARG0) - strlen("reread.gp")]."style.gp"

rows_a_set = 1
legend_extra = 0
x_name = "batch"
@start_page
plot [0:1] [0:1] NaN notitle, \
    for [i = 1:words(lines)] keyentry \
        with linespoints linewidth line_width(i) linecolor rgb line_colour(i) pointtype line_point(i) pointsize line_size(i) title word(lines, i)
@start_panels

@log2_x
lo = 1
hi = 1
stats data using (see_positive(column("kv_reread_x"))) nooutput
set logscale y 2
set yrange [lo / 1.4 : hi * 1.4]
set format y "%g"
set xlabel "batch (rows of a launch)"
set ylabel "KV bytes read from L2 / valid KV bytes"
r = 0
do for [p = 1:panel_count] {
    @place
    plot for [i = 1:words(lines)] data using "batch":(pick("kv_reread_x", p, i)) \
            with linespoints linewidth line_width(i) linecolor rgb line_colour(i) pointtype line_point(i) pointsize line_size(i) notitle
}
unset multiplot
