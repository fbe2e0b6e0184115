/* sharers.h - how many ranks share a device by time. */
#ifndef ROTA_SHARERS_H
#define ROTA_SHARERS_H

#include "device/device.h"
#include "plan/ranks/comm.h"

/* Find out c->device_sharers, once for each communicator. memory: of this rank, on
 * the device; NULL: it has none, and device may be NULL. Collective; the ranks agree
 * on every failure. */
int rota_comm_find_sharers(rota_comm *c, const rota_device *device,
                           const char *memory);

#endif /* ROTA_SHARERS_H */
