! mpi3.f90 - blocking exchanges that any MPI 3 has, by the module MODULE, or by mpif.h.
#ifdef REQUEST_OF_mpi_f08
#define COMM type(MPI_Comm)
#else
#define COMM integer
#endif
program exchanges
#ifdef REQUEST_OF_mpif
  implicit none
  include 'mpif.h'
#else
  use MODULE
  implicit none
#endif
  integer, parameter :: ROUNDS = 9
  integer :: ierr, P, me, i, round, wrong
  integer, allocatable :: sent(:), got(:), counts(:), displs(:)
  integer :: both(2), beside(2)
  COMM :: ring

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, P, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(sent(P), got(P), counts(P), displs(P))
  counts = 1
  displs = [(i, i = 0, P - 1)]
  wrong = 0
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [P], [.true.], .false., ring, ierr)
  do round = 1, ROUNDS
    sent = [(1000 * round + 10 * me + i, i = 0, P - 1)]
    got = -1
    call MPI_Alltoall(sent, 1, MPI_INTEGER, got, 1, MPI_INTEGER, &
        MPI_COMM_WORLD, ierr)
    call check()
    got = -1
    call MPI_Alltoallv(sent, counts, displs, MPI_INTEGER, got, counts, displs, &
        MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check()
    got = sent
    call MPI_Alltoallv(MPI_IN_PLACE, counts, displs, MPI_INTEGER, got, counts, &
        displs, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check()
    both = [round, round + 100 * me]
    beside = -1
    call MPI_Neighbor_alltoall(both, 1, MPI_INTEGER, beside, 1, MPI_INTEGER, &
        ring, ierr)
    if (P > 2 .and. any(beside /= [round + 100 * modulo(me - 1, P), round])) &
        wrong = wrong + 1
    beside = -1
    call MPI_Neighbor_alltoallv(both, [1, 1], [0, 1], MPI_INTEGER, beside, &
        [1, 1], [0, 1], MPI_INTEGER, ring, ierr)
    if (P > 2 .and. any(beside /= [round + 100 * modulo(me - 1, P), round])) &
        wrong = wrong + 1
  end do
  print *, 'wrong', wrong
  call MPI_Comm_free(ring, ierr)
  call MPI_Finalize(ierr)
contains
  subroutine check()
    if (any(got /= [(1000 * round + 10 * i + me, i = 0, P - 1)])) wrong = wrong + 1
  end subroutine check
end program exchanges
