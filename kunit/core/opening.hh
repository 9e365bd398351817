// SPDX-License-Identifier: GPL-2.0
/* Helpers of the tests of opening */
#ifndef ENGINE_TEST_OPENING_HH
#define ENGINE_TEST_OPENING_HH

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "sim.hh"
#include "support.hh"

namespace engine_test::opening
{

/* One property as bytes */
struct prop {
	u32 id;
	octets data;
};

inline prop prop32(u32 id, u32 value)
{
	return { id, message().word(value).data() };
}

inline message connprop(const std::vector<prop> &props, u32 flags = 0,
			u32 xid = 0, u32 received = 0)
{
	message m;

	m.prefix(xid, RDMA2_CONNPROP, flags, 32, received);
	m.word(static_cast<u32>(props.size()));
	for (const prop &p : props) {
		m.word(p.id).word(static_cast<u32>(p.data.size()));
		for (uint8_t octet : p.data)
			m.fill(1, octet);
		m.fill((4 - p.data.size() % 4) % 4, 0);
	}
	return m;
}

inline std::unique_ptr<end> new_server(u32 window = 32)
{
	auto e = std::make_unique<end>(usual_config(false, window));

	e->post(rpcrdma_window_receives(window));
	return e;
}

inline message version1_call(u32 version, u32 htype = 0, u32 xid = 5)
{
	return message()
		.word(xid)
		.word(version)
		.word(32)
		.word(htype)
		.word(0)
		.word(0)
		.word(0)
		.rpc(xid, CALL, 40);
}

} // namespace engine_test::opening

#endif
