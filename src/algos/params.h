/* params.h - the numbers that algorithms take, one line each: name, least value,
 * and the value where nobody says (0: it depends on the ranks). No include guard:
 * included with different meanings of ROTA_PARAM.
 *
 *   radix    up to P
 *   batch    messages in flight in each direction, or steps of a batch; usually as
 *            many as MPICH allows itself in its scattered exchange
 *   leaders  of a node, or all its ranks if they are fewer; usually the best of
 *            1, 2 and 4 on the machines of [Peng21]
 *   pieces   messages in which a leader sends what it has for a node
 */
ROTA_PARAM(radix, RADIX, 2, 0)
ROTA_PARAM(batch, BATCH, 1, 32)
ROTA_PARAM(leaders, LEADERS, 1, 4)
ROTA_PARAM(pieces, PIECES, 1, 1)
