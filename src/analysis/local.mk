libsmscope_a_SOURCES += \
	src/analysis/row.c \
	src/analysis/row.h \
	src/analysis/row_columns.c \
	src/analysis/sourced.c \
	src/analysis/sourced.h
