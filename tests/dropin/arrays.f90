! arrays.f90 - long arrays of allocate, for rota-run.
program arrays
    use mpi
    implicit none
    integer, parameter :: block = 131072
    double precision, allocatable :: sent(:), received(:)
    integer :: ranks, error
    logical :: right

    call MPI_Init(error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    allocate (sent(ranks * block), received(ranks * block))
    sent = 1.5d0
    received = 0
    call MPI_Alltoall(sent, block, MPI_DOUBLE_PRECISION, received, block, &
                      MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
    right = all(received == sent)
    deallocate (sent, received)
    call MPI_Finalize(error)
    if (.not. right) stop 1
    print '(a)', 'ok'
end program
