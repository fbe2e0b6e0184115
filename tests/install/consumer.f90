! consumer.f90 - the same in Fortran.
program consumer
  use mpi_f08
  use rota
  implicit none

  integer :: P, me, q, err
  integer, allocatable, asynchronous :: send(:), recv(:)
  type(rota_plan) :: plan

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, P)
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  if (rota_version() /= ROTA_VERSION_NUMBER) error stop 'another version'
  send = [(100 * me + q, q = 0, P - 1)]
  allocate (recv(P), source=-1)
  call rota_alltoall_init(send, 1, MPI_INTEGER, recv, 1, MPI_INTEGER, &
      MPI_COMM_WORLD, MPI_INFO_NULL, plan)
  call rota_start(plan)
  call rota_wait(plan)
  call rota_plan_free(plan)
  call MPI_Finalize(err)
  if (any(recv /= [(100 * q + me, q = 0, P - 1)])) error stop 'wrong'
end program consumer
