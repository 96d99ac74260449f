libsmscope_a_SOURCES += \
	src/model/blocksched.c \
	src/model/blocksched.h \
	src/model/occupancy.c \
	src/model/occupancy.h \
	src/model/roofline.c \
	src/model/roofline.h
