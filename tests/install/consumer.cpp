/* consumer.cpp - the same in C++. */
#include "consumer.c"
