/* message.h - one message of a run, whichever way it goes: exec.c. */
#ifndef ROTA_MESSAGE_H
#define ROTA_MESSAGE_H

#include "exec/exec.h"

/* Post message m, after packing it if need be. */
int rota_message_post(rota_exec *x, rota_dir dir, uint32_t m);

/* One poll of message m; done is set when it is complete and unpacked. */
int rota_message_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done);

#endif /* ROTA_MESSAGE_H */
