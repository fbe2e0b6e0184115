/* layout.h - data of a datatype, packed and unpacked by a device: copies of rows
 * that the host has no part in.
 */
#ifndef ROTA_DEVICE_LAYOUT_H
#define ROTA_DEVICE_LAYOUT_H

#include "base/problem.h"
#include "device/device.h"

/* Put copies between a block of elements of a type, whose layout is known, and its
 * bytes packed in q. block is the origin of the first element. Of a nest, all
 * rows along its longest dimension, or along the elements, are one copy. */
int rota_device_pack(const rota_type *type, const rota_device *device,
                     rota_queue *q, const char *block, size_t bytes,
                     char *packed);
int rota_device_unpack(const rota_type *type, const rota_device *device,
                       rota_queue *q, const char *packed, size_t bytes,
                       char *block);

#endif /* ROTA_DEVICE_LAYOUT_H */
