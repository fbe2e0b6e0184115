# Blocks of (x, least, quartile, median, quartile, most, what takes the least), and
# one of (x, S).
set logscale y
set xlabel 'S (bytes)'
set ylabel 'time (µs)'
stats data using 1 nooutput
last = STATS_blocks - 1
set boxwidth 0.6 / last
stats data index last skip 1 using 1 nooutput
set xrange [0.5:STATS_max+0.5]
set style fill solid 0.4 border
set xtics nomirror
plot for [i=0:last-1] data index i using 1:3:2:6:5 \
    with candlesticks whiskerbars 0.6 lw 1.5 lt i+1 title columnheader(1), \
    for [i=0:last-1] data index i using ($1-0.3/last):4:(0.6/last):(0) \
    with vectors nohead lw 3 lc 'black' notitle, \
    for [i=0:last-1] data index i using 1:2:7 \
    with labels offset 0,-0.7 font ',8' notitle, \
    data index last skip 1 using 1:(NaN):xtic(2) notitle
