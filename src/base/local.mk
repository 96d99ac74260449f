libsmscope_a_SOURCES += \
	src/base/fail.c \
	src/base/fail.h \
	src/base/log.c \
	src/base/log.h \
	src/base/mem.c \
	src/base/mem.h \
	src/base/options.c \
	src/base/options.h \
	src/base/progress.c \
	src/base/progress.h \
	src/base/steady.c \
	src/base/steady.h \
	src/base/table.c \
	src/base/table.h \
	src/base/text.c \
	src/base/text.h
