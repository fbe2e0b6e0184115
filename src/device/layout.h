/* layout.h - data of a datatype, packed and unpacked by a device, by copies of
 * rows in which the host has no part.
 */
#ifndef ROTA_DEVICE_LAYOUT_H
#define ROTA_DEVICE_LAYOUT_H

#include "base/problem.h"
#include "device/device.h"

/* Put copies in q between a block of elements, whose type has a known layout,
 * and its packed bytes. block: the origin of the first element. One copy
 * handles all rows of a nest along its longest dimension, or along the
 * elements. */
int rota_device_pack(const rota_type *type, const rota_device *device,
                     rota_queue *q, const char *block, size_t bytes,
                     char *packed);
int rota_device_unpack(const rota_type *type, const rota_device *device,
                       rota_queue *q, const char *packed, size_t bytes,
                       char *block);

#endif /* ROTA_DEVICE_LAYOUT_H */
