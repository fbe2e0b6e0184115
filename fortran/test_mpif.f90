! test_mpif.f90 - a program that includes mpif.h uses the module for mpi: an
! all-to-all with counts of both kinds.
program test_mpif
  use rota_f90
  implicit none
  include 'mpif.h'
  integer :: P, me, i, wrong, ierror
  integer, allocatable, asynchronous :: a(:), b(:), c(:)
  integer, allocatable :: ones(:), places(:)
  integer(MPI_COUNT_KIND), allocatable :: large_ones(:)
  integer(MPI_ADDRESS_KIND), allocatable :: large_places(:)
  type(rota_plan) :: plan, large

  call MPI_Init(ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, P, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  allocate (a(P), b(P), c(P), source=me)
  places = [(i, i=0, P - 1)]
  large_places = places
  allocate (ones(P), source=1)
  large_ones = ones
  call rota_alltoallv_init(a, ones, places, MPI_INTEGER, b, ones, places, &
      MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, plan, ierror)
  call rota_alltoallv_init(a, large_ones, large_places, MPI_INTEGER, c, &
      large_ones, large_places, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
      large)
  call rota_startall(2, [plan, large])
  call rota_waitall(2, [plan, large])
  wrong = count(b /= places) + count(c /= places)
  call rota_plan_free(plan)
  call rota_plan_free(large)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, &
      MPI_COMM_WORLD, ierror)
  if (me == 0) print '(a,i0,a,i0)', 'ranks ', P, ', wrong ', wrong
  call MPI_Finalize(ierror)
  if (wrong /= 0) error stop 1
end program test_mpif
