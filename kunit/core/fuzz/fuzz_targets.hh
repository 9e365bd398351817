/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fuzz targets. Each takes bytes, and returns, or aborts if the engine has violated
 * an invariant.
 */
#ifndef ENGINE_TEST_FUZZ_TARGETS_HH
#define ENGINE_TEST_FUZZ_TARGETS_HH

#include <cstddef>
#include <cstdint>

/* One message of a kind, in a state that the first byte selects */
int fuzz_msg(const uint8_t *data, size_t size);
int fuzz_nomsg(const uint8_t *data, size_t size);
int fuzz_done(const uint8_t *data, size_t size);
int fuzz_error(const uint8_t *data, size_t size);
int fuzz_connprop(const uint8_t *data, size_t size);

/* One message of version 1 */
int fuzz_v1(const uint8_t *data, size_t size);

/* Two engines, and a script of events */
int fuzz_connection(const uint8_t *data, size_t size);

/* The handshake of host authentication, and a script of an attacker's actions */
int fuzz_handshake(const uint8_t *data, size_t size);

/* The private message of a connection request */
int fuzz_private(const uint8_t *data, size_t size);

#endif /* ENGINE_TEST_FUZZ_TARGETS_HH */
