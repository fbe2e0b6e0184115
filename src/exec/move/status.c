/* status.c - see status.h. */
#include "exec/move/status.h"

#include <stdio.h>

void rota_status_note(rota_status *s, rota_note note, int peer, size_t sent,
                      size_t expected)
{
    if (s->note != ROTA_NOTHING &&
        (s->note != note || note != ROTA_ABOVE_BOUND || sent <= s->sent))
        return;
    s->note = note;
    s->peer = peer;
    s->sent = sent;
    s->expected = expected;
}

/* Keep the text here: the current call may be for another plan. */
static void keep_text(rota_status *s)
{
    s->text[0] = '\0';
    if (rota_fail_text())
        snprintf(s->text, sizeof s->text, "%s", rota_fail_text());
    rota_fail_clear();
}

void rota_status_fail(rota_status *s, int err)
{
    keep_text(s);
    s->err = err;
    s->broken = true;
}

int rota_status_refuse(void)
{
    return rota_fail(MPI_ERR_OTHER, "a message of an earlier run failed; the "
                                    "plan can only be freed");
}

bool rota_status_postpone(rota_status *s, int *err)
{
    if (*err != MPI_ERR_NO_MEM || !rota_fail_text())
        return false;
    s->starved = true;
    keep_text(s);
    *err = MPI_SUCCESS;
    return true;
}

int rota_status_error(const rota_status *s)
{
    return s->text[0] ? rota_fail(s->err, "%s", s->text) : s->err;
}
