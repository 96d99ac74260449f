# What all figures share: data, page, palette, axes, legend, watermark.
# The figure sets data, out, terminal_name, title, mark from ARG1.. before it loads this.
reset
set encoding utf8
set datafile separator "\t"
set datafile columnheaders

# Panels and lines, in the order of the data; names hold no blanks.
panels = ""
lines = ""
has(list, name) = strstrt(" ".list." ", " ".name." ") > 0
join(list, name) = has(list, name) ? list : list eq "" ? name : list." ".name
note(panel, line) = (panels = join(panels, panel), lines = join(lines, line), 0)
stats data using (note(strcol("panel"), strcol("line"))) nooutput
panel_count = words(panels)

# Extremes of values, NaN left out; lo > hi while there are none.
lo = 1e300
hi = -1e300
see(value) = (value == value ? (lo = value < lo ? value : lo, hi = value > hi ? value : hi) : 0, 0)
# For log axes, which cannot show zero.
see_positive(value) = value > 0 ? see(value) : 0
any_range = "if (hi < lo) { lo = 1; hi = 1 }"

# Page: rows of panels, title and legend above them.
columns = panel_count < 3 ? panel_count : 3
panel_width = columns == 1 ? 640 : columns == 2 ? 460 : 400
panel_height = 350
max(a, b) = a > b ? a : b
longest = 11
do for [i = 1:words(lines)] { longest = max(longest, strlen(word(lines, i))) }
start_page = "page_width = columns * panel_width; \
  page_rows = rows_a_set * ((panel_count - 1) / columns + 1); \
  legend_columns = max(1, page_width / (longest * 8 + 70)); \
  legend_rows = (words(lines) + legend_extra - 1) / legend_columns + 1; \
  head = 48 + 18 * legend_rows; \
  page_height = head + page_rows * panel_height; \
  if (terminal_name eq 'svg') { \
    set terminal svg size page_width, page_height dynamic background 'white' font 'sans-serif,12' noenhanced \
  } else { \
    set terminal pngcairo size page_width, page_height background 'white' font 'Sans,10' noenhanced \
  }; \
  set output out; \
  set multiplot; \
  set margins 0, 0, 0, 0; \
  unset border; unset tics; \
  set label 1 title at screen 0.5, 1 - 20.0 / page_height center noenhanced; \
  set key at screen 0.5, 1 - 36.0 / page_height center top horizontal maxcols legend_columns noenhanced samplen 2"
# After the legend: what the panels have in common.  A figure may move the mark.
mark_place = "graph 0.5, 0.5 center rotate by 25"
start_panels = "unset label 1; unset key; \
  set border 3 linecolor rgb '#606060'; \
  set xtics nomirror out scale 0.5; \
  set ytics nomirror out scale 0.5; \
  set grid ytics linecolor rgb '#e4e4e4' linetype 1; \
  if (mark ne '') { \
    set label 2 mark at @mark_place font ',44' textcolor rgb '#dcdcdc' back \
  }"

# Panel p (from 1), row r of its set (from 0): margins in screen units.
column_of(p) = (p - 1) % columns
row_of(p, r) = (p - 1) / columns * rows_a_set + r
place = "set lmargin at screen (column_of(p) * panel_width + 84.0) / page_width; \
  set rmargin at screen ((column_of(p) + 1) * panel_width - 20.0) / page_width; \
  set tmargin at screen 1 - (head + row_of(p, r) * panel_height + 24.0) / page_height; \
  set bmargin at screen 1 - (head + (row_of(p, r) + 1) * panel_height - 62.0) / page_height; \
  set title word(panels, p) offset 0, -0.6 noenhanced"

# Colours that the common kinds of colour blindness keep apart (Okabe and Ito's set).
kernel_colour(name) = name eq "simt" ? 0xE69F00 : name eq "mma" ? 0x0072B2 : name eq "splitk" ? 0x009E73 : -1
others = "0xCC79A7 0x56B4E9 0xD55E00 0x000000 0x882255 0x999933 0x44AA99 0x661100"
line_colour(i) = kernel_colour(word(lines, i)) >= 0 ? kernel_colour(word(lines, i)) \
  : int(word(others, (i - 1) % words(others) + 1))
points = "7 5 9 13 11 4 6 8"
line_point(i) = int(word(points, (i - 1) % words(points) + 1))
# Later lines are thinner, so that equal ones are both seen.
line_width(i) = i == 1 ? 3.2 : i == 2 ? 2.3 : 1.5
line_size(i) = i == 1 ? 1.3 : i == 2 ? 1 : 0.7

# Value of a column where the row is line i of panel p, else NaN.
here(p, i) = strcol("panel") eq word(panels, p) && strcol("line") eq word(lines, i)
pick(name, p, i) = here(p, i) ? column(name) : NaN

set datafile missing "NaN"

# Log axis of a count: 1, 2, 4, ...; one value alone gets room on both sides.
log2_x = "lo = 1e300; hi = -1e300; \
  stats data using (see(column(x_name))) nooutput; \
  set logscale x 2; \
  set xrange [lo / 1.3 : hi * 1.3]; \
  set xtics 1, (hi / lo > 2000 ? 4 : 2), 1e9; \
  set format x '%.0f'"
# Linear y from 0; flat, zero or no values still make a range.
linear_y = "set yrange [0 : (hi > 0 ? hi * 1.12 : 1)]"
none_here = "if (hi < lo) { set label 3 'not measured' at graph 0.5, 0.5 center textcolor rgb '#606060' } \
  else { unset label 3 }"
