# A block of (i, k, parameter) for every form, then (i, S) and (k, P).
set xlabel 'S (bytes)'
set ylabel 'ranks'
stats data using 1 nooutput
last = STATS_blocks - 3
stats data index last+1 skip 1 using 1 nooutput
set xrange [0.5:STATS_max+0.5]
stats data index last+2 skip 1 using 1 nooutput
set yrange [0.5:STATS_max+0.5]
set style fill solid 0.6 border lc 'white'
set tics nomirror
plot for [i=0:last] data index i using 1:2:(0.5):(0.5) \
    with boxxyerror lt i+1 title columnheader(1), \
    for [i=0:last] data index i using 1:2:3 with labels notitle, \
    data index last+1 skip 1 using 1:(NaN):xtic(2) notitle, \
    data index last+2 skip 1 using (NaN):1:ytic(2) notitle
