/* list.h - the registry: one line an algorithm. No include guard: included
 * with different meanings of ROTA_ALGO. */
ROTA_ALGO(linear)
ROTA_ALGO(spread_out)
ROTA_ALGO(pairwise)
ROTA_ALGO(xor)
ROTA_ALGO(scattered)
ROTA_ALGO(multi_pair)
ROTA_ALGO(parlogna)
ROTA_ALGO(two_phase_bruck)
ROTA_ALGO(sloav)
ROTA_ALGO(mpi)
