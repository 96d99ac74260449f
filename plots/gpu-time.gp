# GPU time of a step against batch, main launches and combine stacked: a panel a topk, a bar a kernel.
# Above a bar stand its time and what share of the step's time that is.
data = ARG1; out = ARG2; terminal_name = ARG3; title = ARG4; mark = ARG5
load ARG0[1:strlen(ARG0) - strlen("gpu-time.gp")]."style.gp"

rows_a_set = 1
legend_extra = 1
longest = max(longest, strlen("combine (on top)"))
# above the bars, which would hide it
mark_place = "graph 0.5, 0.84 center rotate by 0"
@start_page
set style fill solid 1 border rgb "white"
plot [0:1] [0:1] NaN notitle, \
    for [i = 1:words(lines)] keyentry with boxes linecolor rgb line_colour(i) title word(lines, i), \
    keyentry with boxes linecolor rgb "#9a9a9a" title "combine (on top)"
@start_panels

or_zero(value) = value == value ? value : 0
whole(p, i) = pick("main_us", p, i) + or_zero(column("combine_us"))
lo = 1e300
hi = -1e300
stats data using (see(column("group"))) nooutput
set xrange [lo - 0.6 : hi + 0.6]
groups = hi - lo + 1
set xlabel "batch (rows of a launch)"
set ylabel "GPU time of a step (µs)"
width = 0.84 / words(lines)
at(i) = column("group") + (i - 0.5 - words(lines) / 2.0) * width
set xtics scale 0
# Bars narrower than the small print stay without it.
labelled = (panel_width - 104.0) / (groups + 0.2) * width >= 9
time_text(us) = us < 100 ? sprintf("%.1f µs", us) : sprintf("%.0f µs", us)
share_text(us, step) = step > 0 ? sprintf(", %.0f %%", 100 * us / step) : ""
label_text(p, i) = labelled && whole(p, i) > 0 ? time_text(whole(p, i)).share_text(whole(p, i), column("step_us")) : ""
r = 0
do for [p = 1:panel_count] {
    @place
    lo = 1e300
    hi = -1e300
    stats data using (strcol("panel") eq word(panels, p) ? see(column("main_us") + or_zero(column("combine_us"))) : 0) nooutput
    top = hi > 0 ? hi : 1
    set yrange [0 : top * 1.55]
    plot data using "group":(NaN):xticlabels(strcol("batch")) with points notitle, \
        for [i = 1:words(lines)] data using (at(i)):(0):(at(i) - width / 2):(at(i) + width / 2):(0):(pick("main_us", p, i)) \
            with boxxyerror linecolor rgb line_colour(i) notitle, \
        for [i = 1:words(lines)] data using (at(i)):(0):(at(i) - width / 2):(at(i) + width / 2):(pick("main_us", p, i)):(whole(p, i)) \
            with boxxyerror linecolor rgb "#9a9a9a" notitle, \
        for [i = 1:words(lines)] data using (at(i)):(whole(p, i) + top * 0.01):(label_text(p, i)) \
            with labels left rotate by 90 font ",7" textcolor rgb "#404040" notitle
}
unset multiplot
