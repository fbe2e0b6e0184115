# plot.gp - time in exchange (top) and largest block (bottom) over the iterations
# of a loop, MPI's calls against a Rota exchange.
#
#   gnuplot -e "csv='FILE.csv'; svg='FILE.svg'" plot.gp
#
# FILE.csv is what transitive_closure or kcfa wrote with --csv, for the exchanges
# mpi and exchange (--exchange both or all).
if (!exists("csv") || !exists("svg")) {
    print "usage: gnuplot -e \"csv='FILE.csv'; svg='FILE.svg'\" plot.gp"
    exit status 2
}
set datafile separator ','
set terminal svg size 800,600 background 'white'
set output svg

# Column 1 is the exchange, 2 the iteration, 5 the largest block in bytes and 6
# the time in exchange in seconds.
of(form, value) = strcol(1) eq form ? value : NaN

set multiplot layout 2,1
set lmargin 12
set grid
set logscale y
set autoscale xfix
set offsets graph 0.01, graph 0.01, 0, 0
set ylabel 'time in exchange (ms)'
set format y '%g'
set key outside top center horizontal
plot csv skip 1 using 2:(of('mpi', 1e3 * $6)) with points pt 7 ps 0.4 \
         lc rgb '#d55e00' title 'MPI\_Alltoall, MPI\_Alltoallv', \
     csv skip 1 using 2:(of('exchange', 1e3 * $6)) with points pt 7 ps 0.4 \
         lc rgb '#0072b2' title 'rota\_exchange'
set xlabel 'iteration'
set ylabel 'largest block'
set format y '%.0s %cB'
unset key
plot csv skip 1 using 2:(of('exchange', $5)) with points pt 7 ps 0.4 \
         lc rgb '#444444'
unset multiplot
