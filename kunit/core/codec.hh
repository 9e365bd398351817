// SPDX-License-Identifier: GPL-2.0
/* Helpers of the tests of headers as bytes */
#ifndef ENGINE_TEST_CODEC_HH
#define ENGINE_TEST_CODEC_HH

#include <gtest/gtest.h>

#include "support.hh"

namespace engine_test::codec
{

constexpr u32 XID = 0x12345678;

/* Decode @m on an end that has just opened, and return the result. */
struct decoded {
	rpcrdma_verdict verdict;
	rpcrdma_rx rx;
	u32 error; /* code of the ERROR sent in return, 0: none */
	u32 arg;
};

inline decoded decode(end &e, const message &m)
{
	decoded d = {};
	message answer;

	d.verdict = e.receive(m);
	d.rx = e.rx;
	answer = e.control();
	if (answer.size() >= 28 && answer.get(12) == RDMA2_ERROR) {
		d.error = answer.get(24);
		if (answer.size() > 28)
			d.arg = answer.get(28);
	}
	return d;
}

inline decoded decode_call(const message &m)
{
	return decode(*open_server(), m);
}

inline decoded decode_reply(const message &m)
{
	return decode(*open_client(), m);
}

inline message call_prefix(u32 htype = RDMA2_MSG)
{
	return message().prefix(XID, htype, 0);
}

inline message reply_prefix(u32 htype = RDMA2_MSG)
{
	return message().prefix(XID, htype, RDMA2_F_RESPONSE);
}

} // namespace engine_test::codec

#endif
