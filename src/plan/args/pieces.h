/* pieces.h - where the bytes of a datatype lie. */
#ifndef ROTA_PIECES_H
#define ROTA_PIECES_H

#include "base/layout.h"

/* Find the layout of one element; l is empty. comm: as for MPI_Pack. */
int rota_layout_find(MPI_Datatype type, MPI_Comm comm, rota_layout *l);

/* The same by packing an element, however the type was made; it must be
 * committed. Takes memory for the element's true extent and for a number per
 * byte of its data, and frees it. */
int rota_layout_probe(MPI_Datatype type, MPI_Comm comm, rota_layout *l);

#endif /* ROTA_PIECES_H */
