/* paths.h - the paths by which messages travel, in the order in which a step
 * posts their messages: MPI's first, since those within the node are there at
 * once. A message gets the last path that carries it.
 *
 * ROTA_PATH(NAME, SOURCE): the table of functions is rota_path_NAME, in SOURCE.
 * No include guard: each use defines ROTA_PATH.
 */
ROTA_PATH(p2p, "transport/p2p.c")
ROTA_PATH(lines, "transport/lines/lines.c")
ROTA_PATH(slots, "transport/slots.c")
ROTA_PATH(mailbox, "transport/mailbox/mailbox.c")
#undef ROTA_PATH
