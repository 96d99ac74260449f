# SMSCOPE_CUDA: finds the toolkit, the architectures that it knows, CUPTI's and NVTX's headers.
# In: with_cuda (auto, yes, no or a folder), NVCC, NVCCFLAGS, CUDA_ARCHS.
# Out: have_cuda, substitutions NVCC CUDA_ARCHS NVCC_GENCODE CUDA_CPPFLAGS CUDA_LIBS NVCC_WERROR,
#      HAVE_CUDA HAVE_CUPTI HAVE_CUPTI_RANGE HAVE_NVTX in config.h, and the summary's sum_* lines.

# SMSCOPE_CUDA_FIND: NVCC, or a reason why not
AC_DEFUN([SMSCOPE_CUDA_FIND], [
    smscope_bins=
    AS_CASE([$with_cuda],
        [auto|yes], [for smscope_dir in "$CUDA_HOME" "$CUDA_PATH" /usr/local/cuda /opt/cuda; do
            AS_IF([test -n "$smscope_dir"], [smscope_bins="$smscope_bins$PATH_SEPARATOR$smscope_dir/bin"])
        done
        smscope_bins="$PATH$smscope_bins"
        smscope_where="PATH or /usr/local/cuda"],
        [smscope_bins="$with_cuda/bin"
         smscope_where="$with_cuda/bin"])
    AC_PATH_PROG([NVCC], [nvcc], [], [$smscope_bins])
    AS_IF([test -z "$NVCC"],
        [cuda_why="no nvcc in $smscope_where; give --with-cuda=DIR"],
        ["$NVCC" --version >/dev/null 2>&1], [],
        [cuda_why="$NVCC does not run; give --with-cuda=DIR"])
])

# SMSCOPE_CUDA_ROOTS: folders that may hold include/ and lib/, nvcc's own word first
AC_DEFUN([SMSCOPE_CUDA_ROOTS], [
    smscope_top=$("$NVCC" --dryrun -c conftest.cu 2>&1 | sed -n 's/^#\$ TOP=//p')
    smscope_link=$(readlink -f "$NVCC")
    cuda_roots=
    for smscope_dir in "$smscope_top" "${NVCC%/bin/nvcc}" "${smscope_link%/bin/nvcc}"; do
        AS_IF([test -d "$smscope_dir"],
            [smscope_dir=$(cd "$smscope_dir" && pwd -P)
             cuda_roots="$cuda_roots $smscope_dir $smscope_dir/targets/x86_64-linux"])
    done
])

# SMSCOPE_CUDA_LOOK(VARIABLE, file, folders under a root): the folder that holds the file
AC_DEFUN([SMSCOPE_CUDA_LOOK], [
    AC_MSG_CHECKING([for $2])
    $1=
    for smscope_root in $cuda_roots; do
        for smscope_sub in $3; do
            AS_IF([test -z "$[]$1" && test -f "$smscope_root/$smscope_sub/$2"],
                [$1=$smscope_root/$smscope_sub])
        done
    done
    AS_IF([test -n "$[]$1"], [AC_MSG_RESULT([$[]$1])], [AC_MSG_RESULT([no])])
])

# SMSCOPE_CUDA_ARCHITECTURES: CUDA_ARCHS less what nvcc does not know, and NVCC_GENCODE: machine
# code for each, PTX of the lowest and of the highest for GPUs that have none. --list-gpu-code does
# not name variants such as 90a, so nvcc is asked for each one.
AC_DEFUN([SMSCOPE_CUDA_ARCHITECTURES], [
    AC_MSG_CHECKING([which GPU architectures $NVCC knows])
    AS_IF([test -z "$CUDA_ARCHS"], [CUDA_ARCHS="80 90a 100 120"])
    smscope_known=
    cuda_dropped=
    NVCC_GENCODE=
    for smscope_arch in $CUDA_ARCHS; do
        AS_IF(["$NVCC" -arch=sm_$smscope_arch --dryrun -c conftest.cu >/dev/null 2>&1],
            [smscope_known="$smscope_known${smscope_known:+ }$smscope_arch"
             NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$smscope_arch,code=sm_$smscope_arch"],
            [cuda_dropped="$cuda_dropped${cuda_dropped:+ }$smscope_arch"])
    done
    CUDA_ARCHS=$smscope_known
    smscope_numbers=$(echo "$CUDA_ARCHS" | tr ' ' '\n' | sed 's/@<:@a-z@:>@*$//' | sort -n)
    cuda_ptx=$(echo "$smscope_numbers" | sed -n '1p;$p' | uniq | tr '\n' ' ' | sed 's/ $//')
    AS_IF([test -n "$CUDA_ARCHS"], [for smscope_arch in $cuda_ptx; do
        NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$smscope_arch,code=compute_$smscope_arch"
    done])
    AC_MSG_RESULT([${CUDA_ARCHS:-none}${cuda_dropped:+ (not $cuda_dropped)}])
    AS_IF([test -z "$CUDA_ARCHS"], [cuda_why="$NVCC knows none of $cuda_dropped; set CUDA_ARCHS"])
])

# SMSCOPE_CUDA_WORKS: one kernel through nvcc, the host compiler and the linker
AC_DEFUN([SMSCOPE_CUDA_WORKS], [
    AC_MSG_CHECKING([whether $NVCC works])
    smscope_arch=${CUDA_ARCHS%% *}
    smscope_saved_LIBS=$LIBS
    LIBS="conftest.cu.o $CUDA_LIBS $LIBS"
    AS_IF(["$NVCC" $NVCCFLAGS -std=c++17 -arch=sm_$smscope_arch -c -o conftest.cu.o conftest.cu \
            >conftest.cu.log 2>&1],
        [AC_LINK_IFELSE([AC_LANG_PROGRAM([[int kernel_start(void);]], [[return kernel_start();]])],
            [cuda_works=yes],
            [cuda_works=no; cuda_why="its programs do not link against $CUDA_LIBS (see config.log)"])],
        [cuda_works=no
         cat conftest.cu.log >&AS_MESSAGE_LOG_FD
         cuda_why="$NVCC does not compile: $(grep -m1 -i -E 'error|fatal' conftest.cu.log)"
         cuda_why="$cuda_why; another host compiler: NVCCFLAGS=-ccbin=g++-12"])
    LIBS=$smscope_saved_LIBS
    rm -f conftest.cu.o conftest.cu.log
    AC_MSG_RESULT([$cuda_works])
])

AC_DEFUN([SMSCOPE_CUDA], [
    have_cuda=no
    have_cupti=no
    have_range=no
    have_nvtx=no
    cuda_why=
    CUDA_CPPFLAGS=
    CUDA_LIBS=
    NVCC_GENCODE=
    NVCC_WERROR=
    AS_IF([test "$with_cuda" = no], [cuda_why="--without-cuda was given"], [
        cat >conftest.cu <<'_EOF'
__global__ void kernel(int *out) { *out = 1; }
extern "C" int kernel_start(void) { kernel<<<1, 1>>>(nullptr); return (int)cudaGetLastError(); }
_EOF
        SMSCOPE_CUDA_FIND
        AS_IF([test -z "$cuda_why"], [SMSCOPE_CUDA_ARCHITECTURES])
        AS_IF([test -z "$cuda_why"], [
            SMSCOPE_CUDA_ROOTS
            SMSCOPE_CUDA_LOOK([cuda_include], [cuda_runtime_api.h], [include])
            SMSCOPE_CUDA_LOOK([cuda_lib], [libcudart_static.a], [lib64 lib lib/x86_64-linux-gnu])
            AS_IF([test -z "$cuda_include"], [cuda_why="cuda_runtime_api.h is missing beside $NVCC"],
                  [test -z "$cuda_lib"], [cuda_why="libcudart_static.a is missing beside $NVCC"])])
        AS_IF([test -z "$cuda_why"], [
            CUDA_LIBS="$cuda_lib/libcudart_static.a -lstdc++ -lrt $SYSTEM_LIBS"
            SMSCOPE_CUDA_WORKS
            have_cuda=$cuda_works])
        rm -f conftest.cu
        AS_IF([test "$have_cuda" = no && test "$with_cuda" != auto],
            [AC_MSG_ERROR([CUDA was asked for, but $cuda_why])])])

    AS_IF([test "$have_cuda" = yes], [
        SMSCOPE_CUDA_LOOK([cupti_include], [cupti.h], [include extras/CUPTI/include])
        SMSCOPE_CUDA_LOOK([range_include], [cupti_range_profiler.h], [include extras/CUPTI/include])
        SMSCOPE_CUDA_LOOK([nvtx_include], [nvtx3/nvToolsExt.h], [include])
        for smscope_dir in "$cuda_include" "$cupti_include" "$nvtx_include"; do
            AS_CASE(["$smscope_dir/ $CUDA_CPPFLAGS "], [/*], [], [continue])
            AS_CASE([" $CUDA_CPPFLAGS /usr/include "], [*" $smscope_dir "*], [],
                [CUDA_CPPFLAGS="$CUDA_CPPFLAGS${CUDA_CPPFLAGS:+ }-isystem $smscope_dir"])
        done
        AC_DEFINE([HAVE_CUDA], [1], [the CUDA sources are in])
        AS_IF([test -n "$cupti_include"], [have_cupti=yes
            AC_DEFINE([HAVE_CUPTI], [1], [CUPTI's headers are there])])
        AS_IF([test -n "$range_include"], [have_range=yes
            AC_DEFINE([HAVE_CUPTI_RANGE], [1], [CUPTI's headers have the range profiler])])
        AS_IF([test -n "$nvtx_include"], [have_nvtx=yes
            AC_DEFINE([HAVE_NVTX], [1], [NVTX 3's headers are there])])
        AC_DEFINE_UNQUOTED([CUDA_ARCHS], ["$CUDA_ARCHS"], [GPU architectures with machine code])
        AS_IF([test "$enable_werror" != no], [NVCC_WERROR="-Werror all-warnings -Xcompiler=-Werror"])])

    AC_SUBST([CUDA_CPPFLAGS])
    AC_SUBST([CUDA_LIBS])
    AC_SUBST([NVCC_GENCODE])
    AC_SUBST([NVCC_WERROR])

    AS_IF([test "$have_cuda" = yes], [
        sum_cuda="on: nvcc $("$NVCC" --version | sed -n 's/.*release \(@<:@0-9.@:>@*\),.*/\1/p')"
        sum_cuda="$sum_cuda, machine code for $CUDA_ARCHS, PTX for $cuda_ptx"
        AS_IF([test -n "$cuda_dropped"],
            [sum_cuda="$sum_cuda; off: $cuda_dropped (this nvcc does not know them)"])
        sum_cupti="on: opened at run time"
        AS_IF([test "$have_cupti" = no], [sum_cupti="off: cupti.h is missing from the toolkit"])
        sum_range=on
        AS_IF([test "$have_range" = no],
            [sum_range="off: cupti_range_profiler.h is missing; toolkits from 12.6 on have it"])
        sum_nvtx=on
        AS_IF([test "$have_nvtx" = no], [sum_nvtx="off: nvtx3/nvToolsExt.h is missing"])],
        [sum_cuda="off: $cuda_why"
         sum_cupti="off: no CUDA"
         sum_range=$sum_cupti
         sum_nvtx=$sum_cupti])
])
