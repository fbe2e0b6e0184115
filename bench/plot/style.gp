# What all plots have in common. Colours that are told apart by most eyes.
set encoding utf8
set termoption noenhanced
set linetype 1 lc '#0072b2'
set linetype 2 lc '#d55e00'
set linetype 3 lc '#009e73'
set linetype 4 lc '#cc79a7'
set linetype 5 lc '#e69f00'
set linetype 6 lc '#56b4e9'
set linetype 7 lc '#000000'
set linetype 8 lc '#999999'
set linetype cycle 8
set grid ytics lc '#dddddd' lt 1
set key tmargin left Left reverse vertical maxrows 3 samplen 2
set datafile missing '?'
