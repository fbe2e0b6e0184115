/* pieces.h - where the bytes of a datatype lie. */
#ifndef ROTA_PIECES_H
#define ROTA_PIECES_H

#include "base/layout.h"

/* Of one element, into a layout that is empty. comm as for MPI_Pack. */
int rota_layout_find(MPI_Datatype type, MPI_Comm comm, rota_layout *l);

/* The same by packing an element, which is committed, whatever it is made of. It
 * costs memory for the element's true extent and for a number per byte of its
 * data, given back at the end. */
int rota_layout_probe(MPI_Datatype type, MPI_Comm comm, rota_layout *l);

#endif /* ROTA_PIECES_H */
