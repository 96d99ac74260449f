# Only with CUDA. cxx/string is an empty stand-in that lets C read cupti_profiler_host.h.
if HAVE_CUDA
AM_CPPFLAGS += $(CUDA_CPPFLAGS)
AM_CFLAGS += -I$(top_srcdir)/src/gpu/cxx
libsmscope_a_SOURCES += \
	src/gpu/activity.c \
	src/gpu/activity.h \
	src/gpu/buffer.c \
	src/gpu/buffer.h \
	src/gpu/cublas.c \
	src/gpu/cublas.h \
	src/gpu/counters.c \
	src/gpu/counters.h \
	src/gpu/cupti.c \
	src/gpu/cupti.h \
	src/gpu/cupti_table.h \
	src/gpu/device.c \
	src/gpu/device.h \
	src/gpu/doctor.c \
	src/gpu/doctor.h \
	src/gpu/flush.h \
	src/gpu/graph.c \
	src/gpu/graph.h \
	src/gpu/nvml.c \
	src/gpu/nvml.h \
	src/gpu/nvtx.c \
	src/gpu/nvtx.h \
	src/gpu/roof.h \
	src/gpu/schedule.c \
	src/gpu/schedule.h \
	src/gpu/telemetry.c \
	src/gpu/telemetry.h \
	src/gpu/toolkit.c \
	src/gpu/toolkit.h
libsmscope_a_LIBADD += \
	src/gpu/flush.cu.o \
	src/gpu/roof.cu.o
endif

EXTRA_DIST += \
	src/gpu/cxx/string \
	src/gpu/flush.cu \
	src/gpu/roof.cu
