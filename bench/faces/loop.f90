! loop.f90 - see loop.c.
program loop
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use rota
  implicit none

  integer, parameter :: loops = 21
  integer :: P, me, k, i, starts
  integer, allocatable, asynchronous :: a(:), b(:)
  real(real64) :: taken(loops), begin
  character(len=16) :: argument
  type(rota_plan) :: plan

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, P)
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  starts = 20000
  call get_command_argument(1, argument)
  if (argument /= '') read (argument, *) starts
  allocate (a(P), b(P), source=0)
  call rota_alltoall_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, &
      MPI_COMM_WORLD, MPI_INFO_NULL, plan)
  do k = 1, loops
    call MPI_Barrier(MPI_COMM_WORLD)
    begin = MPI_Wtime()
    do i = 1, starts
      call rota_start(plan)
      call rota_wait(plan)
    end do
    taken(k) = (MPI_Wtime() - begin) / starts * 1e9_real64
  end do
  call MPI_Allreduce(MPI_IN_PLACE, taken, loops, MPI_DOUBLE_PRECISION, &
      MPI_MAX, MPI_COMM_WORLD)
  ! The median: as many are less as are greater.
  do k = 1, loops
    if (count(taken < taken(k)) <= loops / 2 .and. &
        count(taken <= taken(k)) > loops / 2) exit
  end do
  if (me == 0) print '(a,f8.1)', 'Fortran  ', taken(k)
  call rota_plan_free(plan)
  call MPI_Finalize()
end program loop
