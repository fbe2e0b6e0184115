/* lending.c - see lending.h. */
#include "exec/memory/lending.h"

#include <stdint.h>
#include <stdlib.h>

void rota_lending_free_buffer(char *buffer)
{
    if (!rota_arena_free(buffer))
        free(buffer);
}

/* By at least half, so that a start like an earlier one allocates nothing. */
bool rota_lending_grow(rota_lending *l, size_t bytes)
{
    const int turn = l->turn;
    const size_t more = l->room[turn] + l->room[turn] / 2;
    const size_t room = bytes > more ? bytes : more;
    char **const buffer = &l->buffer[turn];

    if (bytes > PTRDIFF_MAX)
        return false;
    rota_lending_free_buffer(*buffer);
    *buffer = l->node ? rota_arena_alloc(room) : NULL;
    if (!*buffer)
        *buffer = malloc(room + 1);
    l->room[turn] = *buffer ? room : 0;
    l->at[turn] = 0;
    if (room > 0)
        rota_arena_find(*buffer, room, &l->at[turn]);
    return *buffer != NULL;
}

void rota_lending_free(rota_lending *l)
{
    if (!l)
        return;
    rota_lending_free_buffer(l->buffer[0]);
    rota_lending_free_buffer(l->buffer[1]);
    free(l);
}
