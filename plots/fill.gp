# Busy SMs and SM fill against batch: a column a topk, a line a kernel.
data = ARG1; out = ARG2; terminal_name = ARG3; title = ARG4; mark = ARG5; sm_count = ARG6 + 0
load ARG0[1:strlen(ARG0) - strlen("fill.gp")]."style.gp"

rows_a_set = 2
legend_extra = 1
x_name = "batch"
@start_page
plot [0:1] [0:1] NaN notitle, \
    for [i = 1:words(lines)] keyentry \
        with linespoints linewidth line_width(i) linecolor rgb line_colour(i) pointtype line_point(i) pointsize line_size(i) title word(lines, i), \
    keyentry with lines linewidth 1.5 dashtype 2 linecolor rgb "#606060" title sprintf("all %d SMs", sm_count)
@start_panels

@log2_x
set xlabel "batch (rows of a launch)"
do for [p = 1:panel_count] {
    do for [r = 0:1] {
        name = r == 0 ? "busy_sms" : "sm_fill_pct"
        set ylabel (r == 0 ? "busy SMs (equivalent)" : "SM time with work (%)")
        lo = 1e300
        hi = -1e300
        stats data using (see(column(name))) nooutput
        @none_here
        roof = r == 0 ? sm_count : 100
        hi = hi > roof ? hi : roof
        @linear_y
        @place
        plot roof with lines linewidth 1.5 dashtype 2 linecolor rgb "#606060" notitle, \
            for [i = 1:words(lines)] data using "batch":(pick(name, p, i)) \
                with linespoints linewidth line_width(i) linecolor rgb line_colour(i) pointtype line_point(i) pointsize line_size(i) notitle
    }
}
unset multiplot
