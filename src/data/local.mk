libsmscope_a_SOURCES += \
	src/data/axis.c \
	src/data/axis.h \
	src/data/datadir.c \
	src/data/datadir.h \
	src/data/gpuspec.c \
	src/data/gpuspec.h \
	src/data/ini.c \
	src/data/ini.h \
	src/data/plan.c \
	src/data/plan.h \
	src/data/point.c \
	src/data/point.h \
	src/data/stats.c \
	src/data/stats.h \
	src/data/store.c \
	src/data/store.h \
	src/data/store_db.c \
	src/data/store_db.h \
	src/data/store_place.c \
	src/data/store_points.c \
	src/data/store_read.c \
	src/data/store_result.c \
	src/data/store_rows.c \
	src/data/store_seal.c \
	src/data/workload.c \
	src/data/workload.h
