! fortran.f90 - every kind of exchange, by the module MODULE.
#ifdef REQUEST_OF_mpi_f08
#define REQUEST type(MPI_Request)
#else
#define REQUEST integer
#endif
program exchanges
  use MODULE
  implicit none
  integer :: ierr, P, me, i, round, wrong
  REQUEST :: persistent, once
  integer, allocatable, asynchronous :: sent(:), got(:)
  integer, allocatable :: counts(:), displs(:)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, P, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(sent(P), got(P), counts(P), displs(P))
  counts = 1
  displs = [(i, i = 0, P - 1)]
  wrong = 0
  call MPI_Alltoallv_init(sent, counts, displs, MPI_INTEGER, got, counts, &
      displs, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, persistent, ierr)
  do round = 1, 3
    sent = [(1000 * round + 10 * me + i, i = 0, P - 1)]
    got = -1
    call MPI_Start(persistent, ierr)
    call MPI_Wait(persistent, MPI_STATUS_IGNORE, ierr)
    call check()
    call MPI_Alltoallv(sent, counts, displs, MPI_INTEGER, got, counts, &
        displs, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check()
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Ialltoallv(sent, counts, displs, MPI_INTEGER, got, counts, &
        displs, MPI_INTEGER, MPI_COMM_WORLD, once, ierr)
    call MPI_Wait(once, MPI_STATUS_IGNORE, ierr)
    call check()
  end do
  call MPI_Request_free(persistent, ierr)
  print *, 'wrong', wrong
  call MPI_Finalize(ierr)

contains

  subroutine check()
    wrong = wrong + count(got /= [(1000 * round + 10 * i + me, i = 0, P - 1)])
    got = -1
  end subroutine

end program
