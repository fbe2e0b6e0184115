/* params.h - the parameters of algorithms, one per line: name, least value, and
 * default value (0: it depends on the ranks).
 *
 *   radix    up to P
 *   batch    messages in flight in each direction, or steps of a batch; by
 *            default as in MPICH's scattered exchange
 *   leaders  of a node, or all its ranks if they are fewer; of those in shared
 *            memory as many as there are other nodes if these are fewer; by
 *            default the best of 1, 2 and 4 on the machines of [Peng21]
 *   pieces   messages in which a leader sends what it has for a node
 *   bundle   bytes of the longest block that travels with others; 0: any
 *
 * There is no include guard: files include it with different definitions of
 * ROTA_PARAM.
 */
ROTA_PARAM(radix, RADIX, 2, 0)
ROTA_PARAM(batch, BATCH, 1, 32)
ROTA_PARAM(leaders, LEADERS, 1, 4)
ROTA_PARAM(pieces, PIECES, 1, 1)
ROTA_PARAM(bundle, BUNDLE, 0, 0)
