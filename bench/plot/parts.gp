# A table: a row for every algorithm, a column for every part of its time.
set style data histograms
set style histogram rowstacked
set style fill solid 0.8
set boxwidth 0.7
set ylabel 'time (µs)'
set bmargin 6
set yrange [0:*]
set xtics nomirror font ',9'
plot for [i=2:6] data using i:xtic(1) lt i-1 title columnheader(i)
