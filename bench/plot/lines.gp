# Blocks of (x, microseconds), a line each.
set logscale xy
set xlabel xlabel
set ylabel 'time (µs)'
stats data using 1 nooutput
set xtics nomirror
set xrange [STATS_min*0.8:STATS_max*1.25]
plot for [i=0:STATS_blocks-1] data index i using 1:2:xtic(1) \
    with linespoints lw 2 lt i+1 pt i+4 title columnheader(1)
