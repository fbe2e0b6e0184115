# Blocks of (parameter, microseconds), a line each, and one of the fastest.
set logscale xy
set xlabel key
set ylabel 'time (µs)'
stats data using 1 nooutput
last = STATS_blocks - 1
set xtics nomirror
set xrange [STATS_min*0.8:STATS_max*1.25]
plot for [i=0:last-1] data index i using 1:2:xtic(1) \
    with linespoints lw 2 lt i+1 pt i+4 title columnheader(1), \
    data index last skip 1 using 1:2 with points pt 6 ps 2.2 lw 2 lc 'black' \
    title 'fastest'
