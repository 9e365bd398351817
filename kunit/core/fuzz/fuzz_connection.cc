// SPDX-License-Identifier: GPL-2.0
/*
 * Two engines and a script. The first bytes of the input select the windows and the
 * initial message counts. After that each byte, with its operands, is a step. The
 * simulation checks its invariants after each step.
 */
#include <cstdio>
#include <cstdlib>

#include "fuzz/fuzz_targets.hh"
#include "sim.hh"

using namespace engine_test;

namespace
{

/* Small, because copying would otherwise take most of the time */
constexpr u32 REASSEMBLY = 20000;

class script
{
public:
	script(const uint8_t *data, size_t size) : data_{ data }, size_{ size }
	{
	}

	bool more() const
	{
		return at_ < size_;
	}

	uint8_t octet()
	{
		return at_ < size_ ? data_[at_++] : 0;
	}

	u32 word()
	{
		const u32 high = octet();

		return high << 8 | octet();
	}

private:
	const uint8_t *data_;
	size_t size_;
	size_t at_ = 0;
};

rpc_shape next_shape(script &in)
{
	rpc_shape shape;
	const uint8_t kind = in.octet();

	/* Small, near the threshold, continued, or beyond reassembly */
	static constexpr u32 base[] = { 64, 4000, 9000, REASSEMBLY - 100 };

	shape.call_length = (base[kind & 3] + in.octet()) & ~3u;
	shape.reply_length = (base[kind >> 2 & 3] + in.octet()) & ~3u;
	if (kind & 16) {
		shape.call_item = in.word();
		shape.call_length += (shape.call_item + 3) & ~3u;
	}
	if (kind & 32) {
		shape.reply_item = in.word();
		shape.reply_length += (shape.reply_item + 3) & ~3u;
	}
	return shape;
}

void verify(const sim &s)
{
	if (s.complaint().empty())
		return;
	fprintf(stderr, "%s\n", s.complaint().c_str());
	abort();
}

} // namespace

int fuzz_connection(const uint8_t *data, size_t size)
{
	if (size > 2048)
		return 0;

	script in{ data, size };
	const uint8_t windows = in.octet();
	sim_options options =
		usual_options(4 + (windows & 15), 4 + (windows >> 4));
	const uint8_t counts = in.octet();
	const uint8_t props = in.octet();
	bool honest = true;

	options.start[0] = 0u - (counts & 15);
	options.start[1] = 0x80000000u - (counts >> 4);
	for (auto &cfg : options.cfg) {
		cfg.props.reassembly = props & 1 ? 0 : REASSEMBLY;
		if (props & 2)
			cfg.props.rcsiz = 2;
		if (props & 4)
			cfg.props.rbsiz = 1024;
		if (props & 64)
			cfg.props.reply_read = RDMA2_REPLY_READ_PULL |
					       RDMA2_REPLY_READ_PROVIDE;
		if (props & 128)
			cfg.expose_octets = 30000;
		if (props & 8 && cfg.client)
			cfg.props.brs = props >> 4 & 3;
	}

	sim s{ options };

	if (!s.open()) {
		fprintf(stderr, "does not open\n");
		abort();
	}
	verify(s);

	while (in.more() && !s.closed()) {
		const uint8_t op = in.octet();
		const sim::side side = op & 1 ? sim::SERVER : sim::CLIENT;

		switch (op >> 1 & 15) {
		case 0:
		case 1:
			if (s.outstanding(side) < 20)
				s.call(side, next_shape(in));
			break;
		case 2:
			s.answer(side, in.octet());
			break;
		case 3: {
			const u32 index = in.octet();

			/* Any error but ERR_VERS, which the engine sends */
			s.refuse(side, index,
				 RDMA2_ERR_BAD_XDR + in.octet() % 9);
			break;
		}
		case 4:
			s.forget(side, in.octet());
			break;
		case 5:
			s.inject_grant(side);
			break;
		case 6: {
			const u32 offset = in.word();

			if (s.corrupt(side, offset, in.octet() | 1))
				honest = false;
			break;
		}
		case 7: {
			octets with;

			for (u32 n = in.octet(); n && in.more(); n--)
				with.push_back(in.octet());
			if (s.replace(side, with))
				honest = false;
			break;
		}
		default:
			s.deliver(side);
			break;
		}
		verify(s);
	}

	/*
	 * No more messages arrive. Between honest ends this is the end of the
	 * connection.
	 */
	if (!honest || s.closed())
		return 0;
	if (!s.drain()) {
		fprintf(stderr, "never ends\n");
		abort();
	}
	verify(s);
	for (sim::side side : { sim::CLIENT, sim::SERVER }) {
		if (s.outstanding(side) || s.working(side) || s.exposed(side) ||
		    s.conn(side).exposed_octets) {
			fprintf(stderr, "an RPC was lost\n");
			abort();
		}
		if (!rpcrdma_conn_may_send(&s.conn(side), RPCRDMA_KIND_CALL)) {
			fprintf(stderr, "stuck\n");
			abort();
		}
	}
	return 0;
}
