libsmscope_a_SOURCES += \
	src/bench/ceilings.h \
	src/bench/compulsory.h \
	src/bench/drift.c \
	src/bench/drift.h \
	src/bench/measure.c \
	src/bench/measure.h \
	src/bench/order.c \
	src/bench/order.h \
	src/bench/pass.h \
	src/bench/pass_launches.c \
	src/bench/pass_model.c \
	src/bench/plausible.c \
	src/bench/plausible.h \
	src/bench/record.c \
	src/bench/record.h \
	src/bench/replay.h \
	src/bench/resume.c \
	src/bench/resume.h \
	src/bench/rig.h \
	src/bench/sampling.c \
	src/bench/sampling.h \
	src/bench/settings.c \
	src/bench/settings.h \
	src/bench/shape.c \
	src/bench/shape.h \
	src/bench/sweep.c \
	src/bench/sweep.h \
	src/bench/target.c \
	src/bench/target.h \
	src/bench/trace.c \
	src/bench/trace.h \
	src/bench/validate.h \
	src/bench/worker.c \
	src/bench/worker.h

# passes that run on a GPU
if HAVE_CUDA
libsmscope_a_SOURCES += \
	src/bench/ceilings.c \
	src/bench/compulsory.c \
	src/bench/pass_check.c \
	src/bench/pass_counters.c \
	src/bench/pass_time.c \
	src/bench/pass_trace.c \
	src/bench/replay.c \
	src/bench/rig.c \
	src/bench/validate.c
endif
