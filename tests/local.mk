# Lists first, how they run below.
C_TESTS = \
	tests/test_axis \
	tests/test_blocksched \
	tests/test_bound \
	tests/test_broken \
	tests/test_cases \
	tests/test_check \
	tests/test_datadir \
	tests/test_drift \
	tests/test_fail \
	tests/test_figure \
	tests/test_gpuspec \
	tests/test_groups \
	tests/test_ini \
	tests/test_measured \
	tests/test_occupancy \
	tests/test_options \
	tests/test_order \
	tests/test_parallel \
	tests/test_pass_model \
	tests/test_plan \
	tests/test_plausible \
	tests/test_point \
	tests/test_progress \
	tests/test_record \
	tests/test_reference \
	tests/test_resources \
	tests/test_resume \
	tests/test_roofline \
	tests/test_row \
	tests/test_sampling \
	tests/test_select \
	tests/test_shape \
	tests/test_stats \
	tests/test_store \
	tests/test_synth \
	tests/test_synth_fill \
	tests/test_synth_list \
	tests/test_synth_token \
	tests/test_table \
	tests/test_text \
	tests/test_trace \
	tests/test_workload

# of src/gpu, on libraries of our own in place of CUPTI and NVML
GPU_TESTS = \
	tests/test_activity \
	tests/test_ceilings \
	tests/test_compulsory \
	tests/test_gpu_cupti \
	tests/test_nvml \
	tests/test_pass_cupti \
	tests/test_telemetry

SCRIPT_TESTS = \
	tests/cli_child.test \
	tests/cli_doctor.test \
	tests/cli_export.test \
	tests/cli_input.test \
	tests/cli_locale.test \
	tests/cli_odd.test \
	tests/cli_plot.test \
	tests/cli_resume.test \
	tests/cli_sweep.test \
	tests/layers.test \
	tests/recorded.test \
	tests/resources.test

# --- C tests: one cmocka program a module, from tests/test_<module>.c -----------------------------

LDADD = libsmscope.a $(SMSCOPE_LIBS) $(CMOCKA_LIBS)
tests_test_drift_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=measure_point
tests_test_broken_SOURCES = tests/test_broken.c tests/broken.c tests/broken.h
tests_test_reference_SOURCES = tests/test_reference.c tests/textbook.c tests/textbook.h
FAKES = tests/fake_locale.so
if HAVE_CMOCKA
check_PROGRAMS += $(C_TESTS)
TESTS += $(C_TESTS)
if HAVE_CUPTI
check_PROGRAMS += $(GPU_TESTS)
TESTS += $(GPU_TESTS)
# a GPU's calls are stood in for
tests_test_gpu_cupti_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cudaStreamSynchronize -Wl,--wrap=cudaDeviceSynchronize \
	-Wl,--wrap=device_context
tests_test_pass_cupti_LDFLAGS = $(tests_test_gpu_cupti_LDFLAGS) -Wl,--wrap=graph_capture -Wl,--wrap=graph_launch \
	-Wl,--wrap=graph_flush -Wl,--wrap=graph_timer_new -Wl,--wrap=graph_timer_free -Wl,--wrap=graph_timer_begin \
	-Wl,--wrap=graph_timer_end -Wl,--wrap=graph_free
tests_test_ceilings_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=graph_flush -Wl,--wrap=graph_timer_new \
	-Wl,--wrap=graph_timer_free -Wl,--wrap=graph_timer_begin -Wl,--wrap=graph_timer_end \
	-Wl,--wrap=roof_read_launch -Wl,--wrap=roof_copy_launch -Wl,--wrap=buffer_reserve -Wl,--wrap=buffer_free \
	-Wl,--wrap=buffer_upload -Wl,--wrap=buffer_fill -Wl,--wrap=buffer_repeat
FAKES += tests/fake_cublas.so tests/fake_cupti.so tests/fake_cupti_old.so tests/fake_nvml.so tests/fake_nvml_old.so
endif
else
check-local:
	@echo 'C tests off, cmocka is missing (apt-get install libcmocka-dev): $(C_TESTS)'
endif

# They are opened by their path, tests/fake_NAME.so in the build folder.
check_DATA = $(FAKES)
CLEANFILES += $(FAKES)
EXTRA_DIST += tests/fake_cublas.c tests/fake_cupti.c tests/fake_locale.c tests/fake_nvml.c
tests/fake_cupti.so tests/fake_cupti_old.so: tests/fake_cupti.h config.h
# goes into gnuplot too, so without what --enable-sanitize adds
tests/fake_locale.so: tests/fake_locale.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) -fPIC -shared -o $@ $<
tests/fake_%_old.so: tests/fake_%.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(COMPILE) -DFAKE_OLD -fPIC -shared -o $@ $<
tests/fake_%.so: tests/fake_%.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(COMPILE) -fPIC -shared -o $@ $<

# --- the kernels' device code on the CPU, one fiber a thread ---------------------------------------

if HAVE_CXX
check_PROGRAMS += tests/test_device
TESTS += tests/test_device
# kernels/ as it is without CUDA: no config.h, and no object of the library that has a launch
tests_test_device_SOURCES = tests/test_device.cc tests/fiber/fiber.cc tests/fiber/prim.h $(KERNEL_C)
tests_test_device_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir) -I$(top_srcdir)/src -I$(srcdir)/tests
tests_test_device_LDADD = libsmscope.a $(SMSCOPE_LIBS)
endif

# --- scripts ----------------------------------------------------------------------------------------

TESTS += $(SCRIPT_TESTS)
if PORTABLE
TESTS += tests/ldd.test
endif
EXTRA_DIST += $(SCRIPT_TESTS) tests/ldd.test tests/tap.sh tests/svg.awk tests/tally tests/check-format

# Every test speaks TAP. What they may use: the program, the source tree (srcdir, absolute) and its
# data; they run in the build folder and write only to temporary folders.
TEST_EXTENSIONS = .test
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh --merge
TEST_LOG_DRIVER = $(LOG_DRIVER)
TEST_LOG_COMPILER = bash
AM_TESTS_ENVIRONMENT = \
	srcdir='$(abs_srcdir)'; export srcdir; \
	SMSCOPE='$(abs_top_builddir)/smscope$(EXEEXT)'; export SMSCOPE; \
	SMSCOPE_DATADIR='$(abs_top_srcdir)'; export SMSCOPE_DATADIR; \
	CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	NVCC='$(NVCC_IF_USED)'; export NVCC; \
	RESOURCE_LOGS='$(RESOURCE_LOGS)'; export RESOURCE_LOGS;
if HAVE_CUDA
NVCC_IF_USED = $(NVCC)
RESOURCE_LOGS = $(KERNEL_OBJECTS:.o=.log)
endif

EXTRA_DIST += \
	tests/broken.h \
	tests/fake_cupti.h \
	tests/near.h \
	tests/specs.h \
	tests/synth_made.h \
	tests/gpu
