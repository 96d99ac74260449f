libsmscope_a_SOURCES += \
	src/analysis/bound.c \
	src/analysis/bound.h \
	src/analysis/drifted.c \
	src/analysis/drifted.h \
	src/analysis/groups.c \
	src/analysis/groups.h \
	src/analysis/measured.c \
	src/analysis/measured.h \
	src/analysis/row.c \
	src/analysis/row.h \
	src/analysis/row_columns.c \
	src/analysis/select.c \
	src/analysis/select.h \
	src/analysis/sourced.c \
	src/analysis/sourced.h
