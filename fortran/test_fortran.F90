! test_fortran.F90 - every routine of the module FACE, rota or rota_f90, on any
! number of ranks: results, what it makes of arguments, and errors.
#ifdef FACE_rota
#define MPI_MODULE mpi_f08
#define TYPE_OF(handle) type(handle)
#else
#define MPI_MODULE mpi
#define TYPE_OF(handle) integer
#endif

! Functions for rota_plan_set_pack. The context has P values to send, and then those
! that come.
module packing_functions
  use, intrinsic :: iso_c_binding
  use MPI_MODULE, only: MPI_COUNT_KIND
  implicit none

  integer :: ranks

contains

  integer(c_int) function pack_block(context, dest, first, last, to) bind(c)
    type(c_ptr), value :: context, to
    integer(c_int), value :: dest
    integer(MPI_COUNT_KIND), value :: first, last
    integer, pointer :: values(:), block

    call c_f_pointer(context, values, [2 * ranks])
    call c_f_pointer(to, block)
    block = values(dest + 1)
    pack_block = merge(0, 1, last - first == storage_size(1) / 8)
  end function pack_block

  integer(c_int) function unpack_block(context, source, first, last, from) &
      bind(c)
    type(c_ptr), value :: context, from
    integer(c_int), value :: source
    integer(MPI_COUNT_KIND), value :: first, last
    integer, pointer :: values(:), block

    call c_f_pointer(context, values, [2 * ranks])
    call c_f_pointer(from, block)
    values(ranks + source + 1) = block
    unpack_block = merge(0, 1, last - first == storage_size(1) / 8)
  end function unpack_block

end module packing_functions

program test_fortran
  use, intrinsic :: iso_c_binding
  use MPI_MODULE
  use FACE
  use packing_functions
  implicit none

  integer :: P, me, wrong, err
  TYPE_OF(MPI_Comm) :: comm

  call MPI_Init(err)
  comm = MPI_COMM_WORLD
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, err)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, err)
  call MPI_Comm_size(comm, P, err)
  call MPI_Comm_rank(comm, me, err)
  wrong = 0

  call test_fixed()
  call test_in_place()
  call test_same_counts()
  call test_own_types()
  call test_types()
  call test_many()
  call test_varying()
  call test_neighbors()
  call test_unit()
  call test_reverse()
  call test_graphs()
  call test_exchange()
  call test_borrow()
  call test_arrays()
  call test_pack()
  call test_parts()
  call test_sparse()
  call test_memory()
  call test_local_memory()
  call test_asking()
  call test_tuning()
  call test_errors()

  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, comm, err)
  if (me == 0) print '(a,i0,a,i0)', 'ranks ', P, ', wrong ', wrong
  call MPI_Finalize(err)
  if (wrong /= 0) error stop 1

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what

    if (holds) return
    print '(a,i0,2a)', 'rank ', me, ': ', what
    wrong = wrong + 1
  end subroutine check

  ! The class of a code is the one expected.
  subroutine expect(code, class, what)
    integer, intent(in) :: code, class
    character(len=*), intent(in) :: what
    integer :: found

    call rota_error_class(code, found)
    call check(found == class, what)
  end subroutine expect

  ! Rank r sends r + d + 1 numbers to rank d, which are as many as come.
  subroutine lay_out(counts, displs, total)
    integer, intent(out) :: counts(P), displs(P), total
    integer :: q

    total = 0
    do q = 1, P
      counts(q) = me + q
      displs(q) = total
      total = total + counts(q)
    end do
  end subroutine lay_out

  pure integer function number(src, dst, i)
    integer, intent(in) :: src, dst, i

    number = (src * 31 + dst) * 31 + i
  end function number

  subroutine fill(buf, counts, displs)
    integer, intent(out) :: buf(:)
    integer, intent(in) :: counts(P), displs(P)
    integer :: q, i

    do q = 1, P
      do i = 1, counts(q)
        buf(displs(q) + i) = number(me, q - 1, i)
      end do
    end do
  end subroutine fill

  logical function arrived(buf, counts, displs)
    integer, intent(in) :: buf(:), counts(P), displs(P)
    integer :: q, i

    arrived = .true.
    do q = 1, P
      do i = 1, counts(q)
        arrived = arrived .and. buf(displs(q) + i) == number(q - 1, me, i)
      end do
    end do
  end function arrived

  subroutine test_fixed()
    integer :: counts(P), displs(P), total, ierror
    integer, allocatable, asynchronous :: a(:), b(:), c(:)
    integer(MPI_COUNT_KIND) :: large(P)
    integer(MPI_ADDRESS_KIND) :: far(P)
    type(rota_plan) :: plan
    TYPE_OF(MPI_Request) :: request
    logical :: flag

    call lay_out(counts, displs, total)
    allocate (a(total), b(total), c(total))
    call fill(a, counts, displs)
    b = -1
    call rota_alltoallv_init(a, counts, displs, MPI_INTEGER, b, counts, &
        displs, MPI_INTEGER, comm, MPI_INFO_NULL, plan, ierror)
    call check(ierror == MPI_SUCCESS, 'alltoallv_init')
    call rota_start(plan) ! no ierror: it is optional
    call rota_wait(plan)
    call check(arrived(b, counts, displs), 'alltoallv')
    c = -1
    call rota_plan_set_buffers(plan, a, c)
    call rota_start(plan)
    flag = .false.
    do while (.not. flag)
      call rota_test(plan, flag)
    end do
    call check(arrived(c, counts, displs), 'set_buffers and test')
    c = -1
    call rota_start_request(plan, request, ierror)
    call check(ierror == MPI_SUCCESS, 'start_request')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check(arrived(c, counts, displs), 'start_request and MPI_Wait')
    call rota_start(plan)
    call rota_get_request(plan, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check(ierror == MPI_SUCCESS, 'get_request and MPI_Wait')
    call rota_plan_free(plan)
    call check(.not. c_associated(plan%handle), 'plan_free')

    large = counts
    far = displs
    b = -1
    call rota_alltoallv_init(a, large, far, MPI_INTEGER, b, large, far, &
        MPI_INTEGER, comm, MPI_INFO_NULL, plan, ierror)
    call check(ierror == MPI_SUCCESS, 'alltoallv_init, large counts')
    call rota_plan_set_stream(plan, ROTA_NO_STREAM, ierror)
    call check(ierror == MPI_SUCCESS, 'plan_set_stream')
    call rota_start(plan)
    call rota_wait(plan)
    call check(arrived(b, counts, displs), 'alltoallv, large counts')
    call rota_plan_free(plan)
  end subroutine test_fixed

  subroutine test_in_place()
    integer :: counts(P), displs(P), total, ierror
    integer, allocatable, asynchronous :: a(:)
    type(rota_plan) :: plan

    call lay_out(counts, displs, total)
    allocate (a(total))
    call fill(a, counts, displs)
    call rota_alltoallv_init(MPI_IN_PLACE, counts, displs, MPI_INTEGER, a, &
        counts, displs, MPI_INTEGER, comm, MPI_INFO_NULL, plan, ierror)
    call check(ierror == MPI_SUCCESS, 'in place')
    if (ierror /= MPI_SUCCESS) return
    call rota_start(plan)
    call rota_wait(plan)
    call check(arrived(a, counts, displs), 'in place, result')
    call rota_plan_free(plan)
  end subroutine test_in_place

  subroutine test_same_counts()
    integer, asynchronous :: a(2 * P), b(2 * P)
    integer :: q
    type(rota_plan) :: plan

    a = [(number(me, (q - 1) / 2, mod(q - 1, 2)), q = 1, 2 * P)]
    b = -1
    call rota_alltoall_init(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan)
    call rota_start(plan)
    call rota_wait(plan)
    call rota_plan_free(plan)
    call check(all(b == [(number((q - 1) / 2, me, mod(q - 1, 2)), &
        q = 1, 2 * P)]), 'alltoall')
    b = -1
    call rota_alltoall_init(a, 2_MPI_COUNT_KIND, MPI_INTEGER, b, &
        2_MPI_COUNT_KIND, MPI_INTEGER, comm, MPI_INFO_NULL, plan)
    call rota_start(plan)
    call rota_wait(plan)
    call rota_plan_free(plan)
    call check(all(b == [(number((q - 1) / 2, me, mod(q - 1, 2)), &
        q = 1, 2 * P)]), 'alltoall, large counts')
  end subroutine test_same_counts

  ! A type for each block: rows of a matrix go, columns of another come.
  subroutine test_own_types()
    integer, asynchronous :: a(P, 3), b(3, P)
    integer :: ones(P), threes(P), sdispls(P), rdispls(P), q, i, ierror
    TYPE_OF(MPI_Datatype) :: row, sendtypes(P), recvtypes(P)
    integer(MPI_COUNT_KIND) :: large_ones(P), large_threes(P)
    integer(MPI_ADDRESS_KIND) :: sfar(P), rfar(P)
    integer, parameter :: bytes = storage_size(1) / 8
    type(rota_plan) :: plan

    do q = 1, P
      a(q, :) = [(number(me, q - 1, i), i = 1, 3)]
    end do
    call MPI_Type_vector(3, 1, P, MPI_INTEGER, row, ierror)
    call MPI_Type_commit(row, ierror)
    sendtypes = row
    recvtypes = MPI_INTEGER
    ones = 1
    threes = 3
    sdispls = [(bytes * (q - 1), q = 1, P)]
    rdispls = 3 * sdispls
    b = -1
    call rota_alltoallw_init(a, ones, sdispls, sendtypes, b, threes, rdispls, &
        recvtypes, comm, MPI_INFO_NULL, plan, ierror)
    call check(ierror == MPI_SUCCESS, 'alltoallw_init')
    call rota_start(plan)
    call rota_wait(plan)
    call rota_plan_free(plan)
    do q = 1, P
      call check(all(b(:, q) == [(number(q - 1, me, i), i = 1, 3)]), &
          'alltoallw')
    end do
    large_ones = ones
    large_threes = threes
    sfar = sdispls
    rfar = rdispls
    b = -1
    call rota_alltoallw_init(a, large_ones, sfar, sendtypes, b, large_threes, &
        rfar, recvtypes, comm, MPI_INFO_NULL, plan, ierror)
    call check(ierror == MPI_SUCCESS, 'alltoallw_init, large counts')
    call MPI_Type_free(row, ierror)
    call rota_start(plan)
    call rota_wait(plan)
    call rota_plan_free(plan)
    do q = 1, P
      call check(all(b(:, q) == [(number(q - 1, me, i), i = 1, 3)]), &
          'alltoallw, large counts')
    end do
  end subroutine test_own_types

  ! Rows of a matrix go, columns of one come.
  subroutine test_types()
    integer, asynchronous :: a(P, 3), b(3, P)
    integer :: q, i, ierror
    TYPE_OF(MPI_Datatype) :: row, placed
    type(rota_plan) :: plan

    do q = 1, P
      a(q, :) = [(number(me, q - 1, i), i = 1, 3)]
    end do
    call MPI_Type_vector(3, 1, P, MPI_INTEGER, row, ierror)
    call MPI_Type_create_resized(row, 0_MPI_ADDRESS_KIND, &
        int(storage_size(1) / 8, MPI_ADDRESS_KIND), placed, ierror)
    call MPI_Type_commit(placed, ierror)
    call rota_alltoall_init(a, 1, placed, b, 3, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan, ierror)
    call check(ierror == MPI_SUCCESS, 'types')
    call MPI_Type_free(row, ierror)
    call MPI_Type_free(placed, ierror)
    call rota_start(plan)
    call rota_wait(plan)
    do q = 1, P
      call check(all(b(:, q) == [(number(q - 1, me, i), i = 1, 3)]), &
          'types, result')
    end do
    call rota_plan_free(plan)
  end subroutine test_types

  subroutine test_many()
    integer, asynchronous :: a(P), b(P, 2)
    integer :: k, q
    type(rota_plan) :: plans(2)

    a = [(number(me, q, 0), q = 0, P - 1)]
    b = -1
    do k = 1, 2
      call rota_alltoall_init(a, 1, MPI_INTEGER, b(:, k), 1, MPI_INTEGER, &
          comm, MPI_INFO_NULL, plans(k))
    end do
    call rota_startall(2, plans)
    call rota_waitall(2, plans)
    do k = 1, 2
      call check(all(b(:, k) == [(number(q, me, 0), q = 0, P - 1)]), &
          'startall and waitall')
      call rota_plan_free(plans(k))
    end do
  end subroutine test_many

  subroutine test_varying()
    integer :: counts(P), displs(P), total, step
    integer, allocatable, asynchronous :: a(:), b(:)
    integer(MPI_COUNT_KIND) :: large(P)
    integer(MPI_ADDRESS_KIND) :: far(P)
    type(rota_plan) :: plan

    call lay_out(counts, displs, total)
    allocate (a(total), b(total))
    call rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan)
    do step = 1, 2
      call fill(a, counts, displs)
      b = -1
      large = counts
      far = displs
      if (step == 1) then
        call rota_alltoallv_start(plan, a, counts, displs, b, counts, displs)
      else
        call rota_alltoallv_start(plan, a, large, far, b, large, far)
      end if
      call rota_wait(plan)
      call check(arrived(b, counts, displs), 'varying')
    end do
    call rota_plan_free(plan)
  end subroutine test_varying

  ! One run, of which the result is known.
  subroutine run(plan, b, wanted)
    type(rota_plan), intent(inout) :: plan
    integer, asynchronous :: b(:)
    integer, intent(in) :: wanted(:)

    b = -1
    call rota_start(plan)
    call rota_wait(plan)
    call check(all(b == wanted), 'neighbours')
    call rota_plan_free(plan)
  end subroutine run

  ! A ring: what goes down arrives from above.
  subroutine test_neighbors()
    type(rota_plan) :: plan
    TYPE_OF(MPI_Comm) :: ring
    integer :: a(2), b(2), wanted(2), down, up, ierror
    integer, dimension(2) :: counts, displs
    integer(MPI_COUNT_KIND) :: large(2)
    integer(MPI_ADDRESS_KIND) :: far(2), places(2)
    TYPE_OF(MPI_Datatype) :: types(2)
    type(c_ptr) :: where
    integer, pointer :: found(:)

    down = modulo(me - 1, P)
    up = modulo(me + 1, P)
    counts = 1
    displs = [0, 1]
    large = counts
    far = displs
    a = [100 * me + 10 * down, 100 * me + 10 * up + 1]
    wanted = [100 * down + 10 * me + 1, 100 * up + 10 * me]
    call MPI_Cart_create(comm, 1, [P], [.true.], .false., ring, ierror)
    call rota_neighbor_alltoallv_init(a, counts, displs, MPI_INTEGER, b, &
                                      counts, displs, MPI_INTEGER, ring, &
                                      MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoallv_init(a, large, far, MPI_INTEGER, b, large, &
                                      far, MPI_INTEGER, ring, MPI_INFO_NULL, &
                                      plan)
    call run(plan, b, wanted)
    places = [0, 4]
    types = MPI_INTEGER
    call rota_neighbor_alltoallw_init(a, counts, places, types, b, counts, &
                                      places, types, ring, MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoallw_init(a, large, places, types, b, large, &
                                      places, types, ring, MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoall_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, &
                                     ring, MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoall_init(a, 1_MPI_COUNT_KIND, MPI_INTEGER, b, &
                                     1_MPI_COUNT_KIND, MPI_INTEGER, ring, &
                                     MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_INTEGER, &
                                              ring, MPI_INFO_NULL, plan)
    b = -1
    call rota_alltoallv_start(plan, a, counts, displs, b, counts, displs)
    call rota_wait(plan)
    call check(all(b == wanted), 'neighbours, varying')
    call rota_plan_free(plan)
    call rota_neighbor_exchange_init(ROTA_UNBOUNDED, MPI_INTEGER, ring, &
                                     MPI_INFO_NULL, plan)
    call rota_exchange_start(plan, a, counts, displs)
    call rota_exchange_wait(plan, where, counts, displs)
    call c_f_pointer(where, found, [2])
    call check(all(found == wanted), 'neighbours, exchange')
    call rota_plan_free(plan)
    call MPI_Comm_free(ring, ierror)
  end subroutine test_neighbors

  ! One plan for one and for two components.
  subroutine test_unit()
    type(rota_plan) :: plan
    TYPE_OF(MPI_Info) :: info
    integer :: a(2 * P), b(2 * P), i, n, ierror

    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'rota_largest_unit', '8', ierror)
    call rota_alltoall_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, comm, info, &
                            plan)
    call MPI_Info_free(info, ierror)
    do n = 1, 2
      a = [(1000 * me + i, i = 0, 2 * P - 1)]
      call rota_plan_set_unit(plan, MPI_INTEGER, n)
      call rota_start(plan)
      call rota_wait(plan)
      call check(all(b(1:n * P) == &
                     [(1000 * (i / n) + n * me + modulo(i, n), &
                       i = 0, n * P - 1)]), 'set_unit')
    end do
    call rota_plan_free(plan)
  end subroutine test_unit

  ! What has come goes back, and is added.
  subroutine test_reverse()
    type(rota_plan) :: plan, back
    integer :: roots(P), leaves(P), i

    call rota_alltoall_init(roots, 1, MPI_INTEGER, leaves, 1, MPI_INTEGER, &
                            comm, MPI_INFO_NULL, plan)
    call rota_plan_init_reverse(plan, leaves, roots, MPI_INTEGER, MPI_SUM, &
                                MPI_INFO_NULL, back)
    call rota_plan_free(plan)
    roots = 5
    leaves = [(10 * me + i, i = 0, P - 1)]
    call rota_start(back)
    call rota_wait(back)
    call check(all(roots == [(10 * i + me + 5, i = 0, P - 1)]), 'init_reverse')
    call rota_plan_free(back)
  end subroutine test_reverse

  ! A ring by lists: the graph and its copy make plans of all kinds.
  subroutine test_graphs()
    type(rota_plan) :: plan
    type(rota_graph) :: graph, copy
    TYPE_OF(MPI_Comm) :: ring
    integer :: a(2), b(2), wanted(2), down, up, ierror
    integer, dimension(2) :: counts, displs, ends
    integer(MPI_COUNT_KIND) :: large(2)
    integer(MPI_ADDRESS_KIND) :: far(2), places(2)
    TYPE_OF(MPI_Datatype) :: types(2)
    type(c_ptr) :: where
    integer, pointer :: found(:)

    down = modulo(me - 1, P)
    up = modulo(me + 1, P)
    counts = 1
    displs = [0, 1]
    large = counts
    far = displs
    places = [0, 4]
    types = MPI_INTEGER
    ends = [down, up]
    a = [100 * me + 10 * down, 100 * me + 10 * up + 1]
    wanted = [100 * down + 10 * me + 1, 100 * up + 10 * me]
    if (P == 2) wanted = [100 * down + 10 * me, 100 * up + 10 * me + 1]
    if (P == 1) wanted = a
    call rota_graph_create_adjacent(comm, 2, ends, 2, ends, MPI_INFO_NULL, graph)
    call rota_graph_dup(graph, copy)
    call rota_graph_free(graph)
    call rota_neighbor_alltoallv_init_graph(a, counts, displs, MPI_INTEGER, b, &
        counts, displs, MPI_INTEGER, copy, MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoallv_init_graph(a, large, far, MPI_INTEGER, b, &
        large, far, MPI_INTEGER, copy, MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoallw_init_graph(a, counts, places, types, b, &
        counts, places, types, copy, MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoallw_init_graph(a, large, places, types, b, &
        large, places, types, copy, MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoall_init_graph(a, 1, MPI_INTEGER, b, 1, &
        MPI_INTEGER, copy, MPI_INFO_NULL, plan)
    call run(plan, b, wanted)
    call rota_neighbor_alltoallv_varying_init_graph(ROTA_UNBOUNDED, &
        MPI_INTEGER, copy, MPI_INFO_NULL, plan)
    b = -1
    call rota_alltoallv_start(plan, a, counts, displs, b, counts, displs)
    call rota_wait(plan)
    call check(all(b == wanted), 'graph, varying')
    call rota_plan_free(plan)
    call MPI_Cart_create(comm, 1, [P], [.true.], .false., ring, ierror)
    call rota_graph_of(ring, graph)
    call MPI_Comm_free(ring, ierror)
    wanted = [100 * down + 10 * me + 1, 100 * up + 10 * me]
    call rota_neighbor_exchange_init_graph(ROTA_UNBOUNDED, MPI_INTEGER, graph, &
        MPI_INFO_NULL, plan)
    call rota_exchange_start(plan, a, counts, displs)
    call rota_exchange_wait(plan, where, counts, displs)
    call c_f_pointer(where, found, [2])
    call check(all(found == wanted), 'graph, exchange')
    call rota_plan_free(plan)
    call rota_graph_free(graph)
    call rota_graph_free(copy)
  end subroutine test_graphs

  subroutine test_exchange()
    integer :: counts(P), displs(P), total, step, ierror
    integer :: came(P), places(P)
    integer, allocatable, asynchronous :: a(:)
    integer, allocatable, target, asynchronous :: mine(:)
    integer, pointer :: got(:)
    integer(MPI_COUNT_KIND) :: large(P)
    integer(MPI_ADDRESS_KIND) :: far(P)
    type(c_ptr) :: where
    type(rota_plan) :: plan
    double precision, asynchronous :: left(1), all_left(1)

    call lay_out(counts, displs, total)
    allocate (a(total), mine(total))
    call fill(a, counts, displs)
    call rota_exchange_init(ROTA_UNBOUNDED, MPI_INTEGER, comm, MPI_INFO_NULL, &
        plan)
    call rota_plan_set_reduction(plan, left, all_left, 1, &
        MPI_DOUBLE_PRECISION, MPI_SUM, ierror)
    call check(ierror == MPI_SUCCESS, 'plan_set_reduction')
    do step = 1, 4
      left = me + step
      large = counts
      far = displs
      if (step == 2) then
        call rota_exchange_start(plan, a, large, far)
        call rota_exchange_wait(plan, where, large, far)
        came = int(large)
        places = int(far)
      else if (step == 3) then
        call rota_exchange_set_buffer(plan, mine, &
            int(total, c_size_t) * storage_size(1) / 8, ierror)
        call check(ierror == MPI_SUCCESS, 'exchange_set_buffer')
        call rota_exchange_start(plan, a, counts, displs)
        call rota_exchange_wait(plan, where)
        call check(c_associated(where, c_loc(mine)), 'exchange_set_buffer, own')
        call rota_exchange_set_buffer(plan) ! the plan's again
      else
        call rota_exchange_start(plan, a, counts, displs)
        call rota_exchange_wait(plan, where, came, places, ierror)
        call check(ierror == MPI_SUCCESS, 'exchange_wait')
      end if
      call c_f_pointer(where, got, [total])
      call check(nint(all_left(1)) == P * (P - 1) / 2 + P * step, &
          'plan_set_reduction, the sum')
      call check(all(came == counts) .and. all(places == displs), &
          'exchange, counts')
      call check(arrived(got, came, places), 'exchange, blocks')
    end do
    call rota_plan_free(plan)
  end subroutine test_exchange

  subroutine test_parts()
    integer :: counts(P), displs(P), total, source, seen, ierror
    integer, allocatable, asynchronous :: a(:), b(:)
    logical :: flag
    type(rota_plan) :: plan

    call lay_out(counts, displs, total)
    allocate (a(total), b(total))
    call rota_alltoallv_init(a, counts, displs, MPI_INTEGER, b, counts, displs, &
        MPI_INTEGER, comm, MPI_INFO_NULL, plan)
    call rota_plan_set_partitioned(plan, ierror)
    call check(ierror == MPI_SUCCESS, 'plan_set_partitioned')
    call rota_start(plan)
    call fill(a, counts, displs)
    call rota_pready(plan, 0)
    if (P > 1) call rota_pready_list(plan, 1, [1])
    if (P > 2) call rota_pready_range(plan, 2, P - 1)
    seen = 0
    do
      call rota_wait_arrival(plan, source, ierror)
      if (source == MPI_UNDEFINED) exit
      call rota_parrived(plan, source, flag)
      call check(flag, 'parrived')
      seen = seen + 1
    end do
    call rota_wait(plan)
    call check(seen == count(counts > 0), 'wait_arrival')
    call check(arrived(b, counts, displs), 'parts')
    call rota_plan_free(plan)
  end subroutine test_parts

  subroutine test_pack()
    integer, target :: values(2 * P)
    integer, asynchronous :: a(P), b(P)
    integer :: q, ierror
    type(rota_plan) :: plan
    type(c_funptr) :: pack, unpack

    call rota_alltoall_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan)
    pack = c_funloc(pack_block)
    unpack = c_funloc(unpack_block)
    call rota_plan_set_pack(plan, pack, unpack, c_loc(values), ierror)
    call check(ierror == MPI_SUCCESS, 'plan_set_pack')
    ranks = P
    values(1:P) = [(100 * me + q, q = 0, P - 1)]
    call rota_start(plan)
    call rota_wait(plan, ierror)
    call check(ierror == MPI_SUCCESS, 'plan_set_pack, the wait')
    call check(all(values(P + 1:) == [(100 * q + me, q = 0, P - 1)]), &
        'plan_set_pack, the values')
    call rota_plan_free(plan)
  end subroutine test_pack

  subroutine test_borrow()
    integer :: counts(P), displs(P), came(P), total, step, q, ierror
    integer(MPI_COUNT_KIND) :: large(P)
    integer, pointer, asynchronous :: a(:)
    integer, pointer :: got(:)
    integer, allocatable :: all_got(:), places(:)
    type(c_ptr) :: where, blocks(P)
    type(rota_plan) :: plan

    call lay_out(counts, displs, total)
    allocate (all_got(total), places(P))
    call rota_exchange_init_borrow(ROTA_UNBOUNDED, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan, ierror)
    call check(ierror == MPI_SUCCESS, 'exchange_init_borrow')
    do step = 1, 3
      call rota_exchange_get_sendbuf(plan, &
          int(total, c_size_t) * storage_size(1) / 8, where, ierror)
      call check(ierror == MPI_SUCCESS, 'exchange_get_sendbuf')
      call c_f_pointer(where, a, [total])
      call fill(a, counts, displs)
      call rota_exchange_start(plan, a, counts, displs)
      if (step == 2) then
        call rota_exchange_wait_borrow(plan, blocks, large)
        came = int(large)
      else
        call rota_exchange_wait_borrow(plan, blocks, came, ierror)
        call check(ierror == MPI_SUCCESS, 'exchange_wait_borrow')
      end if
      call check(all(came == counts), 'borrow, counts')
      places = displs
      do q = 1, P
        if (came(q) == 0) cycle
        call c_f_pointer(blocks(q), got, [came(q)])
        all_got(places(q) + 1:places(q) + came(q)) = got
      end do
      call check(arrived(all_got, came, places), 'borrow, blocks')
    end do
    call rota_plan_free(plan)
  end subroutine test_borrow

  ! Integers in the usual counts, and a number for each rank.
  subroutine test_arrays()
    integer, dimension(2 * P) :: counts, displs, came, places
    integer :: total, step, q, ierror
    integer(MPI_COUNT_KIND) :: large(2 * P)
    integer(MPI_ADDRESS_KIND) :: far(2 * P)
    integer, allocatable, target :: a(:)
    double precision, target :: halves(P)
    integer, pointer :: got(:)
    double precision, pointer :: numbers(:)
    type(c_ptr) :: sends(2), recvs(2)
    type(rota_plan) :: plan

    call lay_out(counts(:P), displs(:P), total)
    counts(P + 1:) = 1
    displs(P + 1:) = [(q, q = 0, P - 1)]
    allocate (a(total))
    call fill(a, counts(:P), displs(:P))
    halves = me + 0.5d0
    sends = [c_loc(a), c_loc(halves)]
    call rota_exchange_init_arrays(ROTA_UNBOUNDED, 2, &
        [MPI_INTEGER, MPI_DOUBLE_PRECISION], comm, MPI_INFO_NULL, plan, ierror)
    call check(ierror == MPI_SUCCESS, 'exchange_init_arrays')
    do step = 1, 2
      if (step == 1) then
        call rota_exchange_start_arrays(plan, sends, counts, displs, ierror)
        call check(ierror == MPI_SUCCESS, 'exchange_start_arrays')
        call rota_exchange_wait_arrays(plan, recvs, came, places, ierror)
        call check(ierror == MPI_SUCCESS, 'exchange_wait_arrays')
      else
        large = counts
        far = displs
        call rota_exchange_start_arrays(plan, sends, large, far)
        call rota_exchange_wait_arrays(plan, recvs, large, far)
        came = int(large)
        places = int(far)
      end if
      call check(all(came == counts), 'arrays, counts')
      call c_f_pointer(recvs(1), got, [sum(came(:P))])
      call check(arrived(got, came(:P), places(:P)), 'arrays, integers')
      call c_f_pointer(recvs(2), numbers, [P])
      call check(all(numbers == [(q + 0.5d0, q = 0, P - 1)]), 'arrays, numbers')
    end do
    call rota_plan_free(plan)
  end subroutine test_arrays

  ! Each rank sends two numbers to the next one.
  subroutine test_sparse()
    integer :: n, step, from, ierror
    integer, pointer :: sources(:), counts(:), displs(:), got(:)
    integer(MPI_COUNT_KIND), pointer :: large(:)
    integer(MPI_ADDRESS_KIND), pointer :: far(:)
    integer, asynchronous :: a(3)
    type(c_ptr) :: where
    type(rota_plan) :: plan

    from = modulo(me - 1, P)
    call rota_exchange_init_sparse(MPI_INTEGER, comm, MPI_INFO_NULL, plan)
    do step = 1, 4
      a = [-1, 10 * me, 10 * me + step]
      if (modulo(step, 2) == 0) then
        call rota_exchange_start_sparse(plan, a, 1, [modulo(me + 1, P)], &
            [2_MPI_COUNT_KIND], [1_MPI_ADDRESS_KIND])
        call rota_exchange_wait_sparse(plan, where, n, sources, large, far)
        call check(n == 1 .and. large(1) == 2 .and. far(1) == 0, &
            'exchange_wait_sparse, large counts')
      else
        call rota_exchange_start_sparse(plan, a, 1, [modulo(me + 1, P)], [2], &
            [1], ierror)
        call check(ierror == MPI_SUCCESS, 'exchange_start_sparse')
        call rota_exchange_wait_sparse(plan, where, n, sources, counts, displs)
        call check(n == 1 .and. counts(1) == 2 .and. displs(1) == 0, &
            'exchange_wait_sparse')
      end if
      call check(size(sources) == 1 .and. sources(1) == from, &
          'exchange_wait_sparse, sources')
      call c_f_pointer(where, got, [2])
      call check(got(1) == 10 * from .and. got(2) == 10 * from + step, &
          'exchange_wait_sparse, blocks')
    end do
    call rota_plan_free(plan)
  end subroutine test_sparse

  subroutine test_memory()
    type(c_ptr) :: memory
    integer, pointer, asynchronous :: a(:)
    integer :: b(P), q, ierror
    type(rota_plan) :: plan

    call rota_mem_alloc(int(P, c_size_t) * storage_size(1) / 8, comm, &
        MPI_INFO_NULL, memory, ierror)
    call check(ierror == MPI_SUCCESS .and. c_associated(memory), 'mem_alloc')
    call c_f_pointer(memory, a, [P])
    a = [(number(me, q, 0), q = 0, P - 1)]
    call rota_alltoall_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan)
    call rota_start(plan)
    call rota_wait(plan)
    call check(all(b == [(number(q, me, 0), q = 0, P - 1)]), 'mem_alloc, used')
    call rota_plan_free(plan)
    call rota_mem_free(memory, ierror)
    call check(ierror == MPI_SUCCESS .and. .not. c_associated(memory), &
        'mem_free')
  end subroutine test_memory

  subroutine test_local_memory()
    type(c_ptr) :: memory
    integer, pointer, asynchronous :: a(:)
    integer :: b(P), q
    type(rota_plan) :: plan

    memory = rota_malloc(100_c_size_t)
    call rota_free(memory)
    memory = rota_calloc(int(P, c_size_t), c_sizeof(b(1)))
    call c_f_pointer(memory, a, [P])
    call check(all(a == 0), 'calloc')
    a = [(number(me, q, 0), q = 0, P - 1)]
    memory = rota_realloc(memory, 2 * P * c_sizeof(b(1)))
    call c_f_pointer(memory, a, [P])
    call rota_alltoall_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan)
    call rota_start(plan)
    call rota_wait(plan)
    call check(all(b == [(number(q, me, 0), q = 0, P - 1)]), 'malloc, used')
    call rota_plan_free(plan)
    call rota_free(memory)
    memory = rota_aligned_alloc(4096_c_size_t, 1_c_size_t)
    call check(mod(transfer(memory, 0_c_intptr_t), 4096_c_intptr_t) == 0, &
        'aligned_alloc')
    call rota_free(memory)
  end subroutine test_local_memory

  subroutine test_asking()
    integer :: a(P), b(P)
    character(len=:), allocatable :: text
    type(rota_plan) :: plan

    a = 0
    call rota_alltoall_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan)
    call rota_plan_describe(plan, ROTA_DESCRIBE_TEXT, text)
    call check(index(text, 'algorithm') > 0, 'describe')
    call rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text)
    call check(text(1:1) == '{' .and. index(text, '}', back=.true.) > 1, &
        'describe, JSON')
    call rota_plan_free(plan)
    call check(rota_version() == ROTA_VERSION_NUMBER, 'version')
  end subroutine test_asking

  subroutine test_tuning()
    character(len=:), allocatable :: text
    character(len=64) :: file
    integer :: ierror, unit

    write (file, '(3a, i0, a)') 'test_fortran_', FACE_NAME, '_', P, '.json'
    call rota_tuning_forget(comm, ierror)
    call check(ierror == MPI_SUCCESS, 'tuning_forget')
    call rota_tuning_export_string(comm, text, ierror)
    call check(ierror == MPI_SUCCESS .and. len(text) > 2, 'export_string')
    call rota_tuning_import_string(text, comm, ierror)
    call check(ierror == MPI_SUCCESS, 'import_string')
    call rota_tuning_export(file, comm, ierror)
    call check(ierror == MPI_SUCCESS, 'tuning_export')
    call rota_tuning_import(file, comm, ierror)
    call check(ierror == MPI_SUCCESS, 'tuning_import')
    call rota_tuning_import(comm=comm, ierror=ierror) ! no file is no error
    call check(ierror == MPI_SUCCESS, 'tuning_import, no path')
    call rota_tuning_import('no such file', comm, ierror)
    call expect(ierror, MPI_ERR_ARG, 'tuning_import of no file')
    call MPI_Barrier(comm, ierror)
    if (me == 0) then
      open (newunit=unit, file=file, status='old')
      close (unit, status='delete')
    end if
    call rota_tuning_forget(comm, ierror)
  end subroutine test_tuning

  subroutine test_errors()
    integer :: a(2 * P), b(2 * P), ierror, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    type(rota_plan) :: plan

    a = 0
    call rota_start(ROTA_PLAN_NULL, ierror)
    call expect(ierror, MPI_ERR_REQUEST, 'start of no plan')
    call rota_alltoall_init(a, -1, MPI_INTEGER, b, 1, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan, ierror)
    call expect(ierror, MPI_ERR_COUNT, 'negative count')
    call check(.not. c_associated(plan%handle), 'no plan on errors')
    call MPI_Error_string(ierror, text, length, ierror)
    call check(index(text, 'rota_alltoall_init') > 0, 'text of an error')
    ! Beyond 2^31: the error has it whole. What is received lies before what is
    ! sent, which has no end.
    call rota_alltoall_init(a(P + 1:), 2_MPI_COUNT_KIND**33, MPI_BYTE, &
        a(:P), 1_MPI_COUNT_KIND, MPI_BYTE, comm, MPI_INFO_NULL, plan, ierror)
    call expect(ierror, MPI_ERR_COUNT, 'large count')
    call MPI_Error_string(ierror, text, length, ierror)
    call check(index(text, ' 8589934592 ') > 0, 'large count, its text')
    call rota_alltoall_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, &
        MPI_COMM_NULL, MPI_INFO_NULL, plan, ierror)
    call expect(ierror, MPI_ERR_COMM, 'no communicator')
    call rota_alltoall_init(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_INTEGER, comm, &
        MPI_INFO_NULL, plan, ierror)
    call expect(ierror, MPI_ERR_TYPE, 'no type')
    ! A section with gaps, whatever the compiler would do with a copy of it.
    call rota_alltoall_init(a(1:2 * P:2), 1, MPI_INTEGER, b, 1, MPI_INTEGER, &
        comm, MPI_INFO_NULL, plan, ierror)
    if (P > 1) call expect(ierror, MPI_ERR_BUFFER, 'a section with gaps')
    if (ierror == MPI_SUCCESS) call rota_plan_free(plan)
    call rota_alltoall_init(a(2:P + 1), 1, MPI_INTEGER, b, 1, MPI_INTEGER, &
        comm, MPI_INFO_NULL, plan, ierror)
    call check(ierror == MPI_SUCCESS, 'a section without gaps')
    call rota_start(plan)
    call rota_plan_free(plan, ierror)
    call expect(ierror, MPI_ERR_REQUEST, 'free of an active plan')
    call rota_wait(plan)
    call rota_plan_free(plan)
    call rota_alltoall_init(a, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, &
        comm, MPI_INFO_NULL, plan, ierror)
    call expect(ierror, MPI_ERR_BUFFER, 'MPI_IN_PLACE to receive')
  end subroutine test_errors

end program test_fortran
