! fortran.f90 - every kind of exchange, and every way to wait for one, by the
! module MODULE, or by mpif.h.
#ifdef REQUEST_OF_mpi_f08
#define REQUEST type(MPI_Request)
#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define STATUS(n) type(MPI_Status) :: n
#define SOURCE(s) s%MPI_SOURCE
#else
#define REQUEST integer
#define COMM integer
#define DATATYPE integer
#define STATUS(n) integer :: n(MPI_STATUS_SIZE)
#define SOURCE(s) s(MPI_SOURCE)
#endif
program exchanges
#ifdef REQUEST_OF_mpif
  implicit none
  include 'mpif.h'
#else
  use MODULE
  implicit none
#endif
  integer, parameter :: WAYS = 9
  integer :: ierr, P, me, i, round, wrong, second
  REQUEST :: persistent, equal, typed, once, pair(2), around(3)
  COMM :: ring
  DATATYPE :: ints(2)
  DATATYPE, allocatable :: each(:)
  integer, asynchronous :: mine(2), beside(2, 3)
  integer(MPI_ADDRESS_KIND) :: places(2)
  integer, allocatable, asynchronous :: sent(:), got(:), other(:), third(:)
  integer, allocatable :: counts(:), displs(:), bytes_at(:)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, P, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  allocate(sent(P), got(P), other(P), third(P), counts(P), displs(P))
  allocate(bytes_at(P), each(P))
  counts = 1
  displs = [(i, i = 0, P - 1)]
  bytes_at = 4 * displs
  each = MPI_INTEGER
  wrong = 0
  call find_second()
  call MPI_Alltoallv_init(sent, counts, displs, MPI_INTEGER, got, counts, &
      displs, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, persistent, ierr)
  call MPI_Alltoall_init(sent, 1, MPI_INTEGER, other, 1, MPI_INTEGER, &
      MPI_COMM_WORLD, MPI_INFO_NULL, equal, ierr)
  call MPI_Alltoallw_init(sent, counts, bytes_at, each, third, counts, &
      bytes_at, each, MPI_COMM_WORLD, MPI_INFO_NULL, typed, ierr)
  call open_ring()
  do round = 1, WAYS
    sent = [(1000 * round + 10 * me + i, i = 0, P - 1)]
    got = -1
    other = -1
    third = -1
    call persistent_exchanges()
    call check(got)
    call check(other)
    call MPI_Start(typed, ierr)
    call MPI_Wait(typed, MPI_STATUS_IGNORE, ierr)
    call check(third)
    call MPI_Alltoallv(sent, counts, displs, MPI_INTEGER, got, counts, &
        displs, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check(got)
    call MPI_Alltoall(sent, 1, MPI_INTEGER, got, 1, MPI_INTEGER, &
        MPI_COMM_WORLD, ierr)
    call check(got)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Ialltoallv(sent, counts, displs, MPI_INTEGER, got, counts, &
        displs, MPI_INTEGER, MPI_COMM_WORLD, once, ierr)
    call MPI_Wait(once, MPI_STATUS_IGNORE, ierr)
    call must(once == MPI_REQUEST_NULL)
    call check(got)
    call MPI_Ialltoall(sent, 1, MPI_INTEGER, got, 1, MPI_INTEGER, &
        MPI_COMM_WORLD, once, ierr)
    call MPI_Wait(once, MPI_STATUS_IGNORE, ierr)
    call check(got)
    call neighbors()
  end do
  call MPI_Request_free(persistent, ierr)
  call MPI_Request_free(equal, ierr)
  call MPI_Request_free(typed, ierr)
  call must(equal == MPI_REQUEST_NULL)
  do i = 1, 3
    call MPI_Request_free(around(i), ierr)
  end do
  print *, 'wrong', wrong
  call MPI_Finalize(ierr)

contains

  subroutine must(what)
    logical, intent(in) :: what
    if (.not. what) wrong = wrong + 1
  end subroutine

  subroutine check(received)
    integer, intent(inout) :: received(:)
    wrong = wrong + &
        count(received /= [(1000 * round + 10 * i + me, i = 0, P - 1)])
    received = -1
  end subroutine

  ! A ring, in which both neighbours of a rank may be the same one. With the
  ! mpi_f08 of MPICH 4.0, MPI_Neighbor_alltoallw takes no grids.
  subroutine open_ring()
    integer :: next_to(2)
    next_to = [modulo(me - 1, P), modulo(me + 1, P)]
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, next_to, &
        MPI_UNWEIGHTED, 2, next_to, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
        ring, ierr)
    ints = MPI_INTEGER
    places = [0, 4]
    call MPI_Neighbor_alltoall_init(mine, 1, MPI_INTEGER, beside(:, 1), 1, &
        MPI_INTEGER, ring, MPI_INFO_NULL, around(1), ierr)
    call MPI_Neighbor_alltoallv_init(mine, [1, 1], [0, 1], MPI_INTEGER, &
        beside(:, 2), [1, 1], [0, 1], MPI_INTEGER, ring, MPI_INFO_NULL, &
        around(2), ierr)
    call MPI_Neighbor_alltoallw_init(mine, [1, 1], places, ints, &
        beside(:, 3), [1, 1], places, ints, ring, MPI_INFO_NULL, around(3), &
        ierr)
  end subroutine

  subroutine check_beside(i)
    integer, intent(in) :: i
    call must(all(beside(:, i) == 1000 * round + &
        [modulo(me - 1, P), modulo(me + 1, P)]))
    beside(:, i) = -1
  end subroutine

  subroutine neighbors()
    mine = 1000 * round + me
    beside = -1
    call MPI_Neighbor_alltoall(mine, 1, MPI_INTEGER, beside(:, 1), 1, &
        MPI_INTEGER, ring, ierr)
    call MPI_Neighbor_alltoallv(mine, [1, 1], [0, 1], MPI_INTEGER, &
        beside(:, 2), [1, 1], [0, 1], MPI_INTEGER, ring, ierr)
    call MPI_Neighbor_alltoallw(mine, [1, 1], places, ints, beside(:, 3), &
        [1, 1], places, ints, ring, ierr)
    do i = 1, 3
      call check_beside(i)
    end do
    call MPI_Ineighbor_alltoallv(mine, [1, 1], [0, 1], MPI_INTEGER, &
        beside(:, 2), [1, 1], [0, 1], MPI_INTEGER, ring, once, ierr)
    call MPI_Wait(once, MPI_STATUS_IGNORE, ierr)
    call check_beside(2)
    call MPI_Startall(3, around, ierr)
    call MPI_Waitall(3, around, MPI_STATUSES_IGNORE, ierr)
    do i = 1, 3
      call check_beside(i)
    end do
  end subroutine

  ! The index of the second request of an array: not 2 with every mpi_f08.
  subroutine find_second()
    integer, asynchronous :: token
    pair(1) = MPI_REQUEST_NULL
    call MPI_Irecv(token, 1, MPI_INTEGER, me, 1, MPI_COMM_WORLD, pair(2), ierr)
    call MPI_Send(me, 1, MPI_INTEGER, me, 1, MPI_COMM_WORLD, ierr)
    call MPI_Waitany(2, pair, second, MPI_STATUS_IGNORE, ierr)
  end subroutine

  ! Both persistent ones, waited for as the round says.
  subroutine persistent_exchanges()
    integer :: index, n, indices(2)
    logical :: flag
    STATUS(status)

    pair = [persistent, equal]
    call MPI_Startall(2, pair, ierr)
    call must(ierr == MPI_SUCCESS)
    flag = .false.
    n = 0
    select case (round)
    case (1)
      call MPI_Wait(pair(1), status, ierr)
      call must(SOURCE(status) == MPI_ANY_SOURCE)
    case (2)
      do while (.not. flag)
        call MPI_Test(pair(1), flag, MPI_STATUS_IGNORE, ierr)
      end do
    case (3)
      do while (.not. flag)
        call MPI_Testall(2, pair, flag, MPI_STATUSES_IGNORE, ierr)
      end do
    case (4)
      call MPI_Wait(pair(1), MPI_STATUS_IGNORE, ierr)
      call MPI_Waitany(2, pair, index, status, ierr)
      call must(index == second)
    case (5)
      call MPI_Wait(pair(1), MPI_STATUS_IGNORE, ierr)
      do while (.not. flag)
        call MPI_Testany(2, pair, index, flag, MPI_STATUS_IGNORE, ierr)
      end do
      call must(index == second)
    case (6)
      call MPI_Wait(pair(1), MPI_STATUS_IGNORE, ierr)
      call MPI_Waitsome(2, pair, n, indices, MPI_STATUSES_IGNORE, ierr)
      call must(n == 1 .and. indices(1) == second)
    case (7)
      call MPI_Wait(pair(1), MPI_STATUS_IGNORE, ierr)
      do while (n == 0)
        call MPI_Testsome(2, pair, n, indices, MPI_STATUSES_IGNORE, ierr)
      end do
      call must(n == 1 .and. indices(1) == second)
    case (8)
      do while (.not. flag)
        call MPI_Request_get_status(pair(1), flag, MPI_STATUS_IGNORE, ierr)
      end do
    end select
    call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE, ierr)
    call must(pair(1) == persistent .and. pair(2) == equal)
  end subroutine

end program
