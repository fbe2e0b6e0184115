/* dies.c - the last rank kills itself at a given point of a plan's life.
 *
 * usage: dies node | init | start | wait | free | memory
 *
 *   node    as it maps the memory of the others
 *   init    when its rings are there, before it has opened theirs
 *   start   with messages written and none received
 *   wait    asleep for a message that is not sent
 *   free    before its rings are given back
 *   memory  while others copy from its rota_mem_alloc
 *
 * killed.sh looks at what is left. Who lives on waits for what never comes,
 * until it is ended by MPI.
 */
#define _GNU_SOURCE
#include "exec/run/program.h"
#include "exec/transport/lines/lines.h"
#include "harness.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const char *point;

static void die_at(const char *here)
{
    if (test_me == test_P - 1 && strcmp(point, here) == 0)
        kill(getpid(), SIGKILL);
}

int __real_rota_arena_map(const rota_arena_address *address, rota_peer **peer);
int __wrap_rota_arena_map(const rota_arena_address *address, rota_peer **peer);
bool __real_rota_lines_attach(rota_exec *x);
bool __wrap_rota_lines_attach(rota_exec *x);
void __real_rota_program_free(rota_exec *x);
void __wrap_rota_program_free(rota_exec *x);

int __wrap_rota_arena_map(const rota_arena_address *address, rota_peer **peer)
{
    die_at("node");
    return __real_rota_arena_map(address, peer);
}

bool __wrap_rota_lines_attach(rota_exec *x)
{
    die_at("init");
    return __real_rota_lines_attach(x);
}

void __wrap_rota_program_free(rota_exec *x)
{
    die_at("free");
    __real_rota_program_free(x);
}

/* No handler: the signal kills. */
static void die_in(long us)
{
    const struct itimerval once = {.it_value = {.tv_usec = us}};

    if (test_me == test_P - 1)
        setitimer(ITIMER_REAL, &once, NULL);
}

int main(int argc, char **argv)
{
    enum { ELEMENTS = 20000 };
    rota_plan *plan = NULL;
    char *send = NULL, *recv;

    point = argc > 1 ? argv[1] : "";
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const int bytes = strcmp(point, "memory") == 0 ? ELEMENTS : 8;
    const size_t all = (size_t)bytes * (size_t)test_P;
    MUST(rota_mem_alloc(all, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    recv = malloc(all);
    memset(send, 1, all);
    MUST(rota_alltoall_init(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    if (strcmp(point, "wait") == 0 && test_me == 0)
        pause();
    if (strcmp(point, "wait") == 0)
        die_in(100000);
    for (bool first = true; first || strcmp(point, "free") != 0;
         first = false) {
        MUST(rota_start(plan));
        if (!first) {
            die_at("start");
            die_at("memory");
        }
        MUST(rota_wait(plan));
    }
    MUST(rota_plan_free(&plan));
    pause();
    return EXIT_SUCCESS;
}
