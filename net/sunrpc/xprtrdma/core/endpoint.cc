// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * All of the core as one translation unit: the protocol engine, and the endpoint, which
 * needs a host that provides the port (port.h).
 */
#include "core.cc"
#include "endpoint/send_buffers.cc"
#include "endpoint/post.cc"
#include "endpoint/send.cc"
#include "endpoint/reply.cc"
#include "endpoint/calls.cc"
#include "endpoint/continued.cc"
#include "endpoint/transfer.cc"
#include "endpoint/receives.cc"
#include "endpoint/arrivals.cc"
#include "endpoint/identities.cc"
#include "endpoint/device.cc"
#include "endpoint/control.cc"
#include "endpoint/teardown.cc"
#include "endpoint/mrs.cc"
#include "endpoint/pulled_reply.cc"
#include "endpoint/placing.cc"
#include "endpoint/answers.cc"
