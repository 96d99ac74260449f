libsmscope_a_SOURCES += \
	src/report/figure.c \
	src/report/figure.h \
	src/report/figure_data.c \
	src/report/gnuplot.c \
	src/report/gnuplot.h
