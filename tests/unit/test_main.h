/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_main.h - what cmocka 1.1.5 wants included, in its order. */
#ifndef ORR_TEST_MAIN_H
#define ORR_TEST_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
