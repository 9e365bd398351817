// SPDX-License-Identifier: GPL-2.0
/*
 * All of the protocol engine as one translation unit, which is how the kernel
 * needs it: see internal.h. On the host the parts are compiled one by one.
 */
#include "chunk_lists.cc"
#include "codec_v2.cc"
#include "lists.cc"
#include "properties.cc"
#include "continuation.cc"
#include "errors.cc"
#include "connection.cc"
#include "receives.cc"
#include "version1.cc"
#include "exposure.cc"
#include "memory.cc"
#include "admission.cc"
#include "receive.cc"
#include "requester.cc"
#include "exchange.cc"
#include "responder.cc"
#include "queues.cc"
#include "send_queue.cc"
#include "read_pool.cc"
#include "region_pool.cc"
#include "pieces.cc"
#include "private_message.cc"
#include "version_choice.cc"
#include "life.cc"
