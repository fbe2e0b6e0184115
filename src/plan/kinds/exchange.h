/* exchange.h - what exchanges have in common that collect their blocks, or borrow
 * them. */
#ifndef ROTA_EXCHANGE_H
#define ROTA_EXCHANGE_H

#include "plan/kinds/built.h"

/* A run begins: nothing has come, but what the rank sends itself. */
void rota_exchange_expect(rota_built *b);

/* Tell counts and displacements, in elements; any may be large or not asked for. */
int rota_exchange_note(const rota_built *b, const rota_found *found);

/* Of rota_kind_borrowing: the buffer for the next start. Local. */
int rota_borrowing_sendbuf(rota_built *b, size_t bytes, void **sendbuf);

#endif /* ROTA_EXCHANGE_H */
