/* payloads.h - what messages hold. A message gets the last payload that takes
 * it.
 *
 * ROTA_PAYLOAD(NAME, SOURCE): the table of functions is rota_payload_NAME, in
 * SOURCE. No include guard: each use defines ROTA_PAYLOAD.
 */
ROTA_PAYLOAD(flat, "payload/flat.c")
ROTA_PAYLOAD(varying, "payload/flat.c")
ROTA_PAYLOAD(packed, "payload/packed.c")
ROTA_PAYLOAD(called, "payload/called.c")
ROTA_PAYLOAD(gathered, "payload/gathered.c")
ROTA_PAYLOAD(layout, "payload/layout.c")
ROTA_PAYLOAD(combined, "payload/combined.c")
ROTA_PAYLOAD(carrying, "payload/carried.c")
ROTA_PAYLOAD(announced, "payload/announced.c")
ROTA_PAYLOAD(sized, "payload/sized.c")
ROTA_PAYLOAD(collected_packed, "payload/collected.c")
ROTA_PAYLOAD(collected, "payload/collected.c")
ROTA_PAYLOAD(parcels, "payload/parcels.c")
#undef ROTA_PAYLOAD
