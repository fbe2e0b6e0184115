/* params.h - the numbers that algorithms take, one line each: name, least value.
 * No include guard: included with different meanings of ROTA_PARAM.
 *
 *   radix    up to P
 *   batch    messages in flight in each direction, or steps of a batch
 *   leaders  of a node, or all its ranks if they are fewer
 *   pieces   messages in which a leader sends what it has for a node
 */
ROTA_PARAM(radix, RADIX, 2)
ROTA_PARAM(batch, BATCH, 1)
ROTA_PARAM(leaders, LEADERS, 1)
ROTA_PARAM(pieces, PIECES, 1)
