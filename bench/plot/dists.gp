# A table: a row for every distribution, a column for every algorithm.
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.8
set logscale y
set ylabel 'time (µs)'
set xlabel 'distribution of block sizes'
set xtics rotate by -20 nomirror
plot for [i=2:n_patterns+1] data using i:xtic(1) lt i-1 title columnheader(i)
