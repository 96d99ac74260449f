libsmscope_a_SOURCES += \
	src/cmd/cmd.h \
	src/cmd/cmd_doctor.c \
	src/cmd/cmd_export.c \
	src/cmd/cmd_list.c \
	src/cmd/cmd_plot.c \
	src/cmd/cmd_sweep.c \
	src/cmd/cmd_validate.c \
	src/cmd/findings.c \
	src/cmd/findings.h
