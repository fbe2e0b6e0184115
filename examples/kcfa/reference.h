/* reference.h - k-CFA by other means, to check against. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "analysis.h"

/* The same analysis by the textbook: go through all states with all that is
 * known of variables, again and again until nothing is new. Local; slow. */
analysis_counts reference_analysis(const program *p);

#endif
