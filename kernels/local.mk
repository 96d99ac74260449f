KERNEL_C = \
	kernels/cases.c \
	kernels/cases.h \
	kernels/check.c \
	kernels/check.h \
	kernels/combine.c \
	kernels/combine.h \
	kernels/hopper.c \
	kernels/hopper.h \
	kernels/kernel.h \
	kernels/layout.h \
	kernels/mla.c \
	kernels/mla.h \
	kernels/mma.c \
	kernels/mma.h \
	kernels/parallel.c \
	kernels/parallel.h \
	kernels/reference.c \
	kernels/reference.h \
	kernels/registry.c \
	kernels/resources.c \
	kernels/resources.h \
	kernels/rng.h \
	kernels/simt.c \
	kernels/simt.h \
	kernels/splitk.c \
	kernels/splitk.h \
	kernels/synth.c \
	kernels/synth.h \
	kernels/synth_fill.c \
	kernels/synth_list.c \
	kernels/synth_list.h \
	kernels/synth_token.c \
	kernels/synth_token.h
KERNEL_CU = \
	kernels/combine.cu \
	kernels/hopper.cu \
	kernels/mma.cu \
	kernels/simt.cu \
	kernels/splitk.cu \
	kernels/call.cuh \
	kernels/e4m3.cuh \
	kernels/hopper.cuh \
	kernels/mla.cuh \
	kernels/prim.cuh \
	kernels/prim90.cuh \
	kernels/walk.cuh

libsmscope_a_SOURCES += $(KERNEL_C)
EXTRA_DIST += $(KERNEL_CU) kernels/resources.tsv kernels/resources.sh

# KERNELS_HASH names the state of the kernels that a run was made with: SHA-256 over the sorted
# SHA-256 hashes of all of their files.
kernels_hash.h: $(KERNEL_C) $(KERNEL_CU)
	$(AM_V_GEN)hash=`cd $(srcdir) && $(SHA256SUM) $(KERNEL_C) $(KERNEL_CU) | cut -c1-64 | \
		LC_ALL=C sort | $(SHA256SUM) | cut -c1-64` && \
		printf '#define KERNELS_HASH "%s"\n' "$$hash" >$@.tmp && mv $@.tmp $@

# The recorded registers and spills as C, for builds without nvcc.
resources_table.h: kernels/resources.tsv kernels/resources.sh
	$(AM_V_GEN)$(SHELL) $(srcdir)/kernels/resources.sh table $(srcdir)/kernels/resources.tsv >$@.tmp && \
		mv $@.tmp $@

BUILT_SOURCES += kernels_hash.h resources_table.h
CLEANFILES += kernels_hash.h resources_table.h

if HAVE_CUDA
KERNEL_OBJECTS = \
	kernels/combine.cu.o \
	kernels/hopper.cu.o \
	kernels/mma.cu.o \
	kernels/simt.cu.o \
	kernels/splitk.cu.o
libsmscope_a_LIBADD += $(KERNEL_OBJECTS)

# Writes what ptxas said of this build's kernels into the recorded table.
resources: $(KERNEL_OBJECTS)
	$(SHELL) $(srcdir)/kernels/resources.sh logs "$(NVCC)" $(KERNEL_OBJECTS:.o=.log) >resources.tsv.tmp
	mv resources.tsv.tmp $(srcdir)/kernels/resources.tsv
.PHONY: resources
endif
