# Blocks of (i, k, ratio), (i, S) and (k, value).
set xlabel 'S (bytes)'
set ylabel key
set cblabel 'times as fast' offset 1
stats data index 0 skip 1 using (abs(log(column(3))/log(2))) nooutput
most = STATS_max > 1 ? STATS_max : 1
set cbrange [-most:most]
set palette defined (-1 '#2166ac', 0 'white', 1 '#b2182b')
set cbtics ()
do for [e=-10:10] {
    if (abs(e) <= most) {
        set cbtics add (e < 0 ? sprintf('1/%d', 2**(-e)) : sprintf('%d', 2**e) e)
    }
}
set style fill solid
set tics nomirror
unset key
set autoscale fix
set offsets 0, 0, 0, 0
plot data index 0 skip 1 using 1:2:(0.5):(0.5):(log($3)/log(2)) \
    with boxxyerror lc palette lw 0, \
    data index 0 skip 1 using 1:2:(sprintf('%.2g', $3)) with labels, \
    data index 1 skip 1 using 1:(NaN):xtic(2), \
    data index 2 skip 1 using (NaN):1:ytic(2)
