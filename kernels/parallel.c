#include "kernels/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { PARALLEL_MAX_THREADS = 64 };

struct loop {
    _Atomic uint64_t next;
    uint64_t count;
    void (*function)(void *context, uint64_t item);
    void *context;
};

static void *work(void *argument)
{
    struct loop *loop = argument;

    for (;;) {
        uint64_t item = atomic_fetch_add(&loop->next, 1);

        if (item >= loop->count)
            return NULL;
        loop->function(loop->context, item);
    }
}

static unsigned usable_cpus(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

    return (unsigned)count;
}

void parallel_for(uint64_t count, unsigned threads, void (*function)(void *context, uint64_t item),
                  void *context)
{
    struct loop loop = {.count = count, .function = function, .context = context};
    pthread_t helpers[PARALLEL_MAX_THREADS];
    unsigned started = 0;

    if (threads == 0)
        threads = usable_cpus();
    if (threads > PARALLEL_MAX_THREADS)
        threads = PARALLEL_MAX_THREADS;
    while (started + 1 < threads && started + 1 < count &&
           pthread_create(&helpers[started], NULL, work, &loop) == 0)
        started++;
    work(&loop);
    for (unsigned i = 0; i < started; i++)
        pthread_join(helpers[i], NULL);
}
