/* standin.h - see standin.c. */
#ifndef ROTA_TEST_STANDIN_H
#define ROTA_TEST_STANDIN_H

/* Where memory of the stand-in really is; other memory is where it is. */
void *standin_place(const void *p);

#endif /* ROTA_TEST_STANDIN_H */
