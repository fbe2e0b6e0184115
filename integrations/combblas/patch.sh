#!/bin/sh
# patch.sh FROM TO - the headers of CombBLAS 1.6, from the folder FROM into TO, with
# exchanges by Rota where COMBBLAS_ROTA is defined.
#
# Changed are SpMV of a matrix and a sparse vector (ParFriends.h) and Invert of a
# sparse vector (FullyDistSpVec.cpp). The places are found by what stands there; the
# exit code is not 0 if one is not found.
set -eu
from=${1:?usage: patch.sh FROM TO}
to=${2:?usage: patch.sh FROM TO}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$to"
cp -R "$from/." "$to"
cp "$here/RotaArrays.h" "$to"

# instead FILE AFTER FIRST LAST [MORE]: what standard input has stands for the lines
# from the one with FIRST to MORE lines behind the one with LAST, the first such lines
# behind one with AFTER. They are kept for programs without Rota.
instead()
{
    awk -v after="$2" -v first="$3" -v last="$4" -v more="${5:-0}" \
        -v ours="$(cat)" '
        index($0, after) { inside = 1 }
        inside && !place && index($0, first) {
            place = NR
            print ours ? "#ifdef COMBBLAS_ROTA\n" ours "\n#else" : \
                "#ifndef COMBBLAS_ROTA"
        }
        { print }
        place && !end && index($0, last) { end = NR + more }
        NR == end { print "#endif" }
        END { exit !end }' "$to/$1" >"$to/$1.new" || {
        echo "patch.sh: $1 has no lines from '$3' to '$4' after '$2'" >&2
        exit 1
    }
    mv "$to/$1.new" "$to/$1"
}

sed 's|^#include "myenableif.h"|&\
#ifdef COMBBLAS_ROTA\
#include "RotaArrays.h"\
#endif|' "$from/FullyDist.h" >"$to/FullyDist.h"
grep -q RotaArrays "$to/FullyDist.h"

spmv='OptBuf<int32_t, OVT > & optbuf, PreAllocatedSPA<OVT> & SPA)'
instead ParFriends.h "$spmv" 'int * rdispls = new int[rowneighs];' \
    'cblas_alltoalltime += (t5-t4);' 1 <<'END'
	auto & both = RotaArrays<int32_t, OVT>::of(RowWorld);
	if(optbuf.totmax > 0 )	// graph500 optimization enabled
	{
		both.exchange(sendcnt, optbuf.dspls, optbuf.inds, optbuf.nums);
	}
	else
	{
		both.exchange(sendcnt, sdispls, sendindbuf, sendnumbuf);
		DeleteAll(sendindbuf, sendnumbuf, sdispls);
	}
	delete [] sendcnt;
	int * recvcnt = both.counts();
	int * rdispls = both.displs();
	int32_t * recvindbuf = both.template array<0>();
	OVT * recvnumbuf = both.template array<1>();
END
instead ParFriends.h "$spmv" 'DeleteAll(recvcnt, rdispls,recvindbuf, recvnumbuf);' \
    'DeleteAll(recvcnt, rdispls,recvindbuf, recvnumbuf);' </dev/null

invert='std::cout << "Sparse vector has entries ('
instead FullyDistSpVec.cpp "$invert" 'MPI_Alltoall(sendcnt' 'rdispls[0] = 0;' <<'END'
    sdispls[0] = 0;
END
instead FullyDistSpVec.cpp "$invert" 'rdispls[i+1] = rdispls[i] + recvcnt[i];' \
    'rdispls[i+1] = rdispls[i] + recvcnt[i];' </dev/null
instead FullyDistSpVec.cpp "$invert" 'IT totrecv = rdispls[nprocs];' \
    'delete [] indbuf;' <<'END'
    auto & both = RotaArrays<NT, IT>::of(World);
    both.exchange(sendcnt, sdispls, datbuf, indbuf);
    DeleteAll(datbuf, indbuf);
    IT totrecv = both.total();
    NT * recvdatbuf = both.template array<0>();
    IT * recvindbuf = both.template array<1>();
END
instead FullyDistSpVec.cpp "$invert" 'DeleteAll(recvindbuf, recvdatbuf);' \
    'DeleteAll(recvindbuf, recvdatbuf);' </dev/null
