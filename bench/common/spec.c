#include "common/spec.h"

#include <string.h>

bool spec_next_param(char **rest, char **key, char **value)
{
    char *colon;

    if (*rest == NULL || **rest == '\0')
        return false;
    *key = *rest;
    colon = strchr(*rest, ':');
    if (colon != NULL)
        *colon = '\0';
    *rest = colon != NULL ? colon + 1 : NULL;
    *value = strchr(*key, '=');
    if (*value != NULL)
        *(*value)++ = '\0';
    return true;
}
