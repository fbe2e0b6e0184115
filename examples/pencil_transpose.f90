! pencil_transpose.f90 - a field in pencils along x turned into pencils along y
! and back, by two plans that are made once.
!
!   mpiexec -n P pencil_transpose
!
! The field is n by n by n; each rank has all x for some of the y, or all y for
! some of the x. Blocks are packed as they are computed, which an FFT does with
! its last pass, and travel end to end.
program pencil_transpose
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use rota
  implicit none

  integer, parameter :: n = 24, steps = 10
  integer :: P, me, q, step, wrong, err
  integer, allocatable :: share(:), first(:), counts(:), displs(:)
  ! along_x(x, y, z) has this rank's y, along_y(y, x, z) its x.
  real(real64), allocatable :: along_x(:, :, :), along_y(:, :, :)
  real(real64), allocatable, asynchronous :: packed(:), came(:)
  type(rota_plan) :: transpose_plan

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, P)
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  share = [((n + q) / P, q = 0, P - 1)] ! they add up to n
  first = [(sum(share(1:q)), q = 0, P - 1)]
  allocate (along_x(n, share(me + 1), n), along_y(n, share(me + 1), n))
  allocate (packed(size(along_x)), came(size(along_x)))

  ! To rank q goes what it has of x and this rank of y; as much comes back.
  counts = share * share(me + 1) * n
  displs = first * share(me + 1) * n
  call rota_alltoallv_init(packed, counts, displs, MPI_DOUBLE_PRECISION, &
      came, counts, displs, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, &
      MPI_INFO_NULL, transpose_plan)

  wrong = 0
  do step = 1, steps
    call fill(along_x, step, swapped=.false.)
    call turn(along_x, along_y)
    wrong = wrong + differences(along_y, step, swapped=.true.)
    call turn(along_y, along_x)
    wrong = wrong + differences(along_x, step, swapped=.false.)
  end do
  call rota_plan_free(transpose_plan)

  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, &
      MPI_COMM_WORLD, err)
  if (me == 0) print '(i0,a,i0,a,i0,a)', 2 * steps, ' transposes on ', P, &
      ' ranks, ', wrong, ' wrong numbers'
  call MPI_Finalize()
  if (wrong /= 0) error stop 1

contains

  ! from(i, j, z) with all i becomes to(j, i, z) with all j.
  subroutine turn(from, to)
    real(real64), intent(in) :: from(:, :, :)
    real(real64), intent(out) :: to(:, :, :)
    integer :: r, z, at, mine

    mine = share(me + 1)
    do r = 1, P
      at = displs(r)
      do z = 1, n
        packed(at + 1:at + share(r) * mine) = reshape(transpose( &
            from(first(r) + 1:first(r) + share(r), :, z)), [share(r) * mine])
        at = at + share(r) * mine
      end do
    end do
    call rota_start(transpose_plan)
    call rota_wait(transpose_plan)
    do r = 1, P ! rank r sent share(r) of the new first index, mine of the other
      at = displs(r)
      do z = 1, n
        to(first(r) + 1:first(r) + share(r), :, z) = reshape( &
            came(at + 1:at + share(r) * mine), [share(r), mine])
        at = at + share(r) * mine
      end do
    end do
  end subroutine turn

  pure real(real64) function value(x, y, z, s)
    integer, intent(in) :: x, y, z, s

    value = ((s * n + x) * n + y) * n + z
  end function value

  pure real(real64) function expected(i, j, z, s, swapped)
    integer, intent(in) :: i, j, z, s
    logical, intent(in) :: swapped

    if (swapped) then
      expected = value(first(me + 1) + j, i, z, s)
    else
      expected = value(i, first(me + 1) + j, z, s)
    end if
  end function expected

  subroutine fill(field, s, swapped)
    real(real64), intent(out) :: field(:, :, :)
    integer, intent(in) :: s
    logical, intent(in) :: swapped
    integer :: i, j, z

    do concurrent (i = 1:n, j = 1:share(me + 1), z = 1:n)
      field(i, j, z) = expected(i, j, z, s, swapped)
    end do
  end subroutine fill

  integer function differences(field, s, swapped)
    real(real64), intent(in) :: field(:, :, :)
    integer, intent(in) :: s
    logical, intent(in) :: swapped
    integer :: i, j, z

    differences = 0
    do z = 1, n
      do j = 1, share(me + 1)
        do i = 1, n
          if (field(i, j, z) /= expected(i, j, z, s, swapped)) &
              differences = differences + 1
        end do
      end do
    end do
  end function differences

end program pencil_transpose
