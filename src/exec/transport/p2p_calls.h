/* p2p_calls.h - MPI's calls for one message of any size. */
#ifndef ROTA_P2P_CALLS_H
#define ROTA_P2P_CALLS_H

#include "exec/exec.h"

int rota_p2p_init(const rota_mpi_buffer *b, rota_dir dir, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request);
int rota_p2p_post(const rota_mpi_buffer *b, rota_dir dir, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request);

/* A send that completes only when it is matched. */
int rota_p2p_synchronous(void *data, size_t bytes, int peer, int tag,
                         MPI_Comm comm, MPI_Request *request);

/* Receive a message found by MPI_Improbe. */
int rota_p2p_matched(void *data, size_t bytes, MPI_Message *message,
                     MPI_Request *request);

/* What has come of MPI_BYTE. */
int rota_p2p_bytes(const MPI_Status *status, MPI_Count *bytes);

/* Make and commit a datatype that gathers n blocks, relative to MPI_BOTTOM. */
int rota_p2p_gather_type(const rota_blocks *b, const rota_block item[],
                         uint32_t n, MPI_Datatype *type);

#endif /* ROTA_P2P_CALLS_H */
