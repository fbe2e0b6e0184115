# drawn.awk - before each line a number and a tab, drawn from `seed` by a generator of
# our own: awk's rand differs from one awk to another. "sort -n | cut -f 2" then gives
# the lines in an order that is the seed's.
BEGIN { state = seed % 4294967296 }
{
    for (i = 0; i < 3; i++) state = (state * 69069 + NR) % 4294967296
    print state "\t" $0
}
