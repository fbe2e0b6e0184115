! mpi3.f90 - blocking exchanges that any MPI 3 has, by the module MODULE, or by mpif.h.
#ifdef REQUEST_OF_mpi_f08
#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define REQUEST type(MPI_Request)
#else
#define COMM integer
#define DATATYPE integer
#define REQUEST integer
#endif
#ifdef GRAPH_ONLY
#define RING_OR_GRAPH graph
#else
#define RING_OR_GRAPH ring
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
  integer, allocatable, asynchronous :: sent(:), got(:)
  integer, allocatable :: counts(:), displs(:)
  integer, asynchronous :: both(2), beside(2)
  COMM :: ring, graph
  REQUEST :: once
  DATATYPE, allocatable :: ints(:)
  integer(MPI_ADDRESS_KIND), parameter :: places(2) = [0, 4]
  integer :: next_to(2)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, P, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(sent(P), got(P), counts(P), displs(P), ints(max(P, 2)))
  counts = 1
  displs = [(i, i = 0, P - 1)]
  ints = MPI_INTEGER
  wrong = 0
  next_to = [modulo(me - 1, P), modulo(me + 1, P)]
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, next_to, &
      MPI_UNWEIGHTED, 2, next_to, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
      graph, ierr)
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
    got = -1
    call MPI_Alltoallw(sent, counts, 4 * displs, ints, got, counts, 4 * displs, &
        ints, MPI_COMM_WORLD, ierr)
    call check()
    got = sent
    call MPI_Alltoallw(MPI_IN_PLACE, counts, displs, ints, got, counts, &
        4 * displs, ints, MPI_COMM_WORLD, ierr)
    call check()
    got = -1
    call MPI_Ialltoallw(sent, counts, 4 * displs, ints, got, counts, &
        4 * displs, ints, MPI_COMM_WORLD, once, ierr)
    call MPI_Wait(once, MPI_STATUS_IGNORE, ierr)
    call check()
    both = [round, round + 100 * me]
    beside = -1
    call MPI_Neighbor_alltoall(both, 1, MPI_INTEGER, beside, 1, MPI_INTEGER, &
        ring, ierr)
    call check_beside()
    call MPI_Neighbor_alltoallv(both, [1, 1], [0, 1], MPI_INTEGER, beside, &
        [1, 1], [0, 1], MPI_INTEGER, RING_OR_GRAPH, ierr)
    call check_beside()
    call MPI_Neighbor_alltoallw(both, [1, 1], places, ints, beside, [1, 1], &
        places, ints, graph, ierr)
    call check_beside()
    call MPI_Ineighbor_alltoallw(both, [1, 1], places, ints, beside, [1, 1], &
        places, ints, graph, once, ierr)
    call MPI_Wait(once, MPI_STATUS_IGNORE, ierr)
    call check_beside()
  end do
  print *, 'wrong', wrong
  call MPI_Comm_free(ring, ierr)
  call MPI_Comm_free(graph, ierr)
  call MPI_Finalize(ierr)
contains
  subroutine check()
    if (any(got /= [(1000 * round + 10 * i + me, i = 0, P - 1)])) wrong = wrong + 1
  end subroutine check
  subroutine check_beside()
    if (P > 2 .and. any(beside /= [round + 100 * modulo(me - 1, P), round])) &
        wrong = wrong + 1
    beside = -1
  end subroutine check_beside
end program exchanges
