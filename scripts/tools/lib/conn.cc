// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connection of the library: the core's connection, what arrives, and timers. send.cc
 * has the messages to be sent. All rules of the protocol are in the core.
 */
#include "conn.hh"

using namespace rpcrdma;

namespace
{

constexpr u64 NS_PER_MS = 1000000;
/*
 * The module's values: time for the opening, and time after a message that is no opening
 */
constexpr u64 OPENING_NS = 15000 * NS_PER_MS;
constexpr u64 ODD_NS = 1000 * NS_PER_MS;

u32 to_ms(u64 ns)
{
	return static_cast<u32>(ns / NS_PER_MS);
}

struct rpcrdma_props to_core(const struct rpcrdma2_props &p)
{
	return { .sbsiz = p.sbsiz,
		 .rbsiz = p.rbsiz,
		 .rssiz = p.rssiz,
		 .rcsiz = p.rcsiz,
		 .brs = p.brs,
		 .reply_read = p.reply_read,
		 .reassembly = p.reassembly };
}

struct rpcrdma2_props from_core(const struct rpcrdma_props &p)
{
	return { .sbsiz = p.sbsiz,
		 .rbsiz = p.rbsiz,
		 .rssiz = p.rssiz,
		 .rcsiz = p.rcsiz,
		 .brs = p.brs,
		 .reply_read = p.reply_read,
		 .reassembly = p.reassembly };
}

} // namespace

/* End the connection, unless it has ended. Returns the first error. */
int rpcrdma2_conn::end(int why)
{
	if (error)
		return error;
	if (why == RPCRDMA2_ERR_CLOSED && rpcrdma_auth_failed(&core))
		why = RPCRDMA2_ERR_AUTH;
	error = why;
	text = core.state == RPCRDMA_CONN_CLOSING && core.reason ?
		       core.reason :
		       rpcrdma2_strerror(why);
	rpcrdma_conn_close(&core, text);
	opening_until = RPCRDMA2_NEVER;
	stall_until = RPCRDMA2_NEVER;
	return error;
}

/* Answer the handshake's request. Return 0 or an error. */
int rpcrdma2_conn::authenticate(u64 now)
{
	struct rpcrdma_auth_request asked;
	struct rpcrdma2_auth_request request = {};
	struct rpcrdma2_auth_answer found = {};
	struct rpcrdma_auth_answer answer = {};

	rpcrdma_auth_next(&core, &asked);
	if (asked.what == RPCRDMA_AUTH_ASK_NOTHING)
		return error;
	request.identity = asked.identity;
	request.server = asked.server;
	if (asked.what != RPCRDMA_AUTH_ASK_SECRET)
		request.dh = {
			static_cast<uint32_t>(asked.dh.group),
			asked.dh.octets,
			asked.dh.private_octets,
			asked.dh.prime,
			asked.what == RPCRDMA_AUTH_ASK_KEYS ?
				nullptr :
				asked.dh.peer_public,
			asked.dh.client_public,
		};
	if (asked.what == RPCRDMA_AUTH_ASK_PROOFS) {
		request.hash = asked.hash;
		request.proof_length = asked.mac_octets;
		for (u32 end = 0; end < 2; end++)
			for (u32 i = 0; i < RPCRDMA_AUTH_RANGES; i++)
				request.input[end][i] = {
					asked.input[end][i].data,
					asked.input[end][i].octets
				};
	}
	switch (callbacks.auth ? callbacks.auth(this, &request, &found, user) :
				 +RPCRDMA2_AUTH_UNKNOWN) {
	case RPCRDMA2_AUTH_FOUND:
		__builtin_memcpy(answer.proof, found.proof,
				 sizeof(answer.proof));
		__builtin_memcpy(answer.public_value, found.public_value,
				 sizeof(answer.public_value));
		break;
	case RPCRDMA2_AUTH_UNKNOWN:
		answer.status = -E_ACCES;
		break;
	default:
		answer.status = -E_NOMEM;
		break;
	}

	const u32 events = rpcrdma_auth_answered(&core, &answer);

	__builtin_memset(&answer, 0, sizeof(answer));
	__builtin_memset(&found, 0, sizeof(found));
	/* Keep the compiler from removing the stores that clear the secret. */
	asm volatile("" : : "r"(&answer), "r"(&found) : "memory");
	return process(events, now);
}

/* Execute the events. Return 0 or an error. */
int rpcrdma2_conn::process(u32 events, u64 now)
{
	if (error)
		return error;
	if (core.state == RPCRDMA_CONN_CLOSING)
		return end(RPCRDMA2_ERR_CLOSED);
	if (events & RPCRDMA_EV_ODD && opening_until != RPCRDMA2_NEVER &&
	    opening_until > now + ODD_NS)
		opening_until = now + ODD_NS;
	if (events & RPCRDMA_EV_OPENED && !opened) {
		opened = 1;
		opening_until = RPCRDMA2_NEVER;
		if (callbacks.opened && callbacks.opened(this, user))
			return end(RPCRDMA2_ERR_CALLBACK);
	}
	return events & RPCRDMA_EV_AUTH ? authenticate(now) : error;
}

/* Set the time at which the peer has granted no credit for too long. */
void rpcrdma2_conn::watch(u64 now)
{
	u32 waits = 0;

	if (calls.first)
		waits |= RPCRDMA_WAITS_CALL;
	if (replies.first || current)
		waits |= RPCRDMA_WAITS_MESSAGE;

	const struct rpcrdma_stall stall =
		rpcrdma_conn_stalled(&core, waits, to_ms(now));

	if (stall.events & RPCRDMA_EV_CLOSE)
		end(RPCRDMA2_ERR_STALLED);
	else
		stall_until = stall.wait ? now + stall.wait * NS_PER_MS :
					   RPCRDMA2_NEVER;
}

int rpcrdma2_conn::report_rpc(enum rpcrdma_verdict verdict, const void *pkt,
			      u32 length)
{
	const bool reply = verdict == RPCRDMA_RX_FRAGMENT ?
				   core.rx_response != 0 :
				   verdict == RPCRDMA_RX_REPLY;
	struct rpcrdma2_msg msg;
	struct rpcrdma2_rx out = {};
	int rc;

	rpcrdma2_msg_decode(&msg, pkt, length, nullptr);
	out.kind = reply ? RPCRDMA2_REPLY : RPCRDMA2_CALL;
	out.xid = rx.xid;
	out.last = verdict != RPCRDMA_RX_FRAGMENT;
	out.first = rx.format == RPCRDMA_CONTINUED ? rx.first_fragment : 1;
	out.payload = static_cast<const u8 *>(pkt) + rx.payload_offset;
	out.length = rx.payload_length;
	out.total = rx.format == RPCRDMA_SPECIAL ? 0 : rx.total_length;
	if (out.last && !reply)
		out.inv_handle = rx.lists.inv_handle;
	out.needs_done = reply && rpcrdma_reply_needs_done(&rx);
	out.msg = &msg;
	out.pkt = pkt;
	out.pkt_length = length;
	if (!callbacks.received)
		return 0;
	in_call = verdict == RPCRDMA_RX_CALL;
	rc = callbacks.received(this, &out, user);
	in_call = 0;
	return rc ? end(RPCRDMA2_ERR_CALLBACK) : error;
}

int rpcrdma2_conn::report_failed(u32 code)
{
	if (callbacks.failed &&
	    callbacks.failed(this, rx.xid, code, rx.error.arg, user))
		return end(RPCRDMA2_ERR_CALLBACK);
	return error;
}

int rpcrdma2_conn::report(enum rpcrdma_verdict verdict, const void *pkt,
			  u32 length)
{
	switch (verdict) {
	case RPCRDMA_RX_FRAGMENT:
	case RPCRDMA_RX_CALL:
	case RPCRDMA_RX_REPLY:
		return report_rpc(verdict, pkt, length);
	case RPCRDMA_RX_ERROR:
		return report_failed(rx.error.code);
	case RPCRDMA_RX_BAD_REPLY:
		return report_failed(0);
	case RPCRDMA_RX_CLOSE:
		return end(RPCRDMA2_ERR_CLOSED);
	default:
		return 0;
	}
}

/* ---- The interface ---- */

void rpcrdma2_config_default(struct rpcrdma2_config *config)
{
	struct rpcrdma_props props = DEFAULT_PROPS;

	props.rssiz = 0;
	props.rcsiz = 0;
	*config = {};
	config->client = 1;
	config->version_low = LOWEST_VERSION;
	config->version_high = HIGHEST_VERSION;
	config->window = 32;
	config->reverse = 1;
	config->opening_timeout = OPENING_NS;
	config->stall_timeout = RPCRDMA_STALL_MS * NS_PER_MS;
	config->props = from_core(props);
}

size_t rpcrdma2_conn_size(void)
{
	return sizeof(struct rpcrdma2_conn);
}

int rpcrdma2_conn_init(struct rpcrdma2_conn **conn, void *storage, size_t size,
		       const struct rpcrdma2_config *config)
{
	auto *c = static_cast<struct rpcrdma2_conn *>(storage);
	struct rpcrdma_conn_config cfg = {};

	if (!storage ||
	    reinterpret_cast<unsigned long>(storage) % RPCRDMA2_CONN_ALIGN)
		return RPCRDMA2_ERR_INVALID;
	if (size < sizeof(*c))
		return RPCRDMA2_ERR_BUFFER_SHORT;
	if (config->version_low < LOWEST_VERSION ||
	    config->version_high > HIGHEST_VERSION ||
	    config->version_low > config->version_high ||
	    config->window < RPCRDMA_MIN_WINDOW ||
	    config->window > RPCRDMA_MAX_CREDIT ||
	    config->reverse >= config->window || !config->opening_timeout ||
	    /* Replies to be pulled are not provided here. */
	    config->props.reply_read & ~u32{ RPCRDMA2_REPLY_READ_PULL })
		return RPCRDMA2_ERR_INVALID;

	cfg.number = 1;
	cfg.client = config->client != 0;
	cfg.version_low = static_cast<u8>(config->version_low);
	cfg.version_high = static_cast<u8>(config->version_high);
	cfg.inv_ok = config->remote_invalidation != 0;
	cfg.no_mrs = config->no_chunks != 0;
	cfg.window = config->window;
	cfg.first_window = config->first_window;
	cfg.reverse = config->reverse;
	cfg.stall_ms = static_cast<u32>(
		min_u64(config->stall_timeout / NS_PER_MS, ~0u / 2));
	cfg.props = to_core(config->props);
	__builtin_memset(storage, 0, sizeof(*c));
	if (config->auth.mode != RPCRDMA2_AUTH_NONE) {
		const char *own = config->auth.own, *peer = config->auth.peer;

		if (config->auth.mode >= RPCRDMA_NR_AUTH_MODES ||
		    config->auth.dh >= RPCRDMA_NR_AUTH_MODES ||
		    config->version_high < RPCRDMA_VERS_2 || !own ||
		    !rpcrdma_auth_init(&c->auth, own, peer ? peer : "",
				       config->auth.nonce))
			return RPCRDMA2_ERR_INVALID;
		rpcrdma_auth_set_groups(
			&c->auth,
			static_cast<enum rpcrdma_auth_mode>(config->auth.dh),
			config->auth.groups);
		cfg.auth_mode = static_cast<u8>(config->auth.mode);
		cfg.version_low = rpcrdma_auth_version_low(cfg.auth_mode,
							   cfg.version_low);
		/* A server begins when a client does. */
		if (cfg.client && *own)
			cfg.auth = &c->auth;
	}
	rpcrdma_conn_init(&c->core, &cfg);
	c->callbacks = config->callbacks;
	c->user = config->user;
	c->opening_timeout = config->opening_timeout;
	c->opening_until = RPCRDMA2_NEVER;
	c->stall_until = RPCRDMA2_NEVER;
	*conn = c;
	return 0;
}

void rpcrdma2_conn_announce(const struct rpcrdma2_conn *conn, void *buf)
{
	struct rpcrdma_private priv;

	rpcrdma_conn_build_private(&conn->core, &priv);
	rpcrdma_encode_private(&priv, static_cast<u8 *>(buf));
}

void rpcrdma2_conn_peer_private(struct rpcrdma2_conn *conn, const void *buf,
				size_t length)
{
	struct rpcrdma_private priv;

	rpcrdma_decode_private(
		buf, static_cast<u32>(length < 256 ? length : 256), &priv);
	rpcrdma_conn_set_peer_private(&conn->core, &priv);
}

void rpcrdma2_conn_read_depth(struct rpcrdma2_conn *conn, uint32_t outbound,
			      uint32_t inbound)
{
	rpcrdma_conn_read_depth(&conn->core, outbound, inbound);
}

int rpcrdma2_conn_established(struct rpcrdma2_conn *conn, uint64_t now)
{
	if (conn->error)
		return conn->error;
	conn->opening_until = now + conn->opening_timeout;
	return conn->process(rpcrdma_conn_established(&conn->core), now);
}

uint32_t rpcrdma2_conn_recv_size(const struct rpcrdma2_conn *conn)
{
	return max_u32(conn->core.cfg.props.rbsiz, RPCRDMA_V2_DEFAULT_INLINE);
}

uint32_t rpcrdma2_conn_send_size(const struct rpcrdma2_conn *conn)
{
	return rpcrdma_conn_send_octets(&conn->core);
}

uint32_t rpcrdma2_conn_max_receives(const struct rpcrdma2_conn *conn)
{
	const struct rpcrdma_conn_config *cfg = &conn->core.cfg;
	const bool spare = !cfg->client && cfg->version_low < RPCRDMA_VERS_2;

	return rpcrdma_window_receives(
		cfg->window + (spare ? +RPCRDMA_V1_SPARE_RECEIVES : 0));
}

uint32_t rpcrdma2_conn_get_receives(struct rpcrdma2_conn *conn, uint64_t now)
{
	if (conn->error)
		return 0;

	const struct rpcrdma_receives wanted =
		rpcrdma_recvs_to_alloc(&conn->core);

	/* The Receives are the caller's, which provides the number it announced. */
	if (wanted.count &&
	    conn->process(rpcrdma_recvs_allocated(&conn->core, wanted.count),
			  now))
		return 0;
	return rpcrdma_recvs_to_post(&conn->core, to_ms(now));
}

int rpcrdma2_conn_posted(struct rpcrdma2_conn *conn, uint32_t count,
			 uint64_t now)
{
	if (conn->error)
		return conn->error;
	return conn->process(rpcrdma_recvs_posted(&conn->core, count), now);
}

int rpcrdma2_conn_read_pkt(struct rpcrdma2_conn *conn, const void *pkt,
			   size_t length, uint32_t invalidated, uint64_t now)
{
	const u32 octets =
		static_cast<u32>(length < ~u32{} ? length : size_t{ ~u32{} });
	int rc;

	if (conn->error)
		return conn->error;
	conn->rx.lists.extra_segs = nullptr;
	conn->held = 0;

	const enum rpcrdma_verdict verdict =
		rpcrdma_conn_receive(&conn->core, pkt, octets, &conn->rx);
	u32 events = conn->rx.events;

	if (events & RPCRDMA_EV_HELLO)
		events |= rpcrdma_auth_hello(&conn->core, &conn->auth, pkt,
					     octets, &conn->rx);
	if (!rpcrdma_may_invalidate(verdict, &conn->rx, invalidated))
		return conn->end(RPCRDMA2_ERR_INVALIDATED);
	/* Process this first, so that the callback can answer at once. */
	rc = conn->process(events, now);
	if (!rc)
		rc = conn->report(verdict, pkt, octets);
	if (rc)
		return rc;
	if (!conn->held)
		rc = conn->process(rpcrdma_recvs_released(&conn->core), now);
	if (!rc) {
		conn->watch(now);
		rc = conn->error;
	}
	return rc;
}

int rpcrdma2_conn_hold(struct rpcrdma2_conn *conn)
{
	if (!conn->in_call)
		return RPCRDMA2_ERR_INVALID;
	conn->held = 1;
	return 0;
}

void rpcrdma2_conn_release(struct rpcrdma2_conn *conn)
{
	if (!conn->error)
		rpcrdma_recvs_released(&conn->core);
}

int rpcrdma2_conn_send_call(struct rpcrdma2_conn *conn, struct rpcrdma2_tx *tx)
{
	return conn->queue(tx, RPCRDMA_KIND_CALL);
}

int rpcrdma2_conn_send_reply(struct rpcrdma2_conn *conn, struct rpcrdma2_tx *tx)
{
	return conn->queue(tx, RPCRDMA_KIND_REPLY);
}

int rpcrdma2_conn_send_error(struct rpcrdma2_conn *conn, uint32_t xid,
			     uint32_t code, uint32_t arg0, uint32_t arg1)
{
	if (conn->error)
		return conn->error;
	if (!find_error(code) || code == RDMA2_ERR_VERS)
		return RPCRDMA2_ERR_INVALID;
	rpcrdma_conn_queue_error(&conn->core, xid, code, arg0, arg1);
	return conn->core.state == RPCRDMA_CONN_CLOSING ?
		       conn->end(RPCRDMA2_ERR_CLOSED) :
		       0;
}

int rpcrdma2_conn_done(struct rpcrdma2_conn *conn, uint32_t xid,
		       uint32_t inv_handle)
{
	if (conn->error)
		return conn->error;
	rpcrdma_conn_queue_done(&conn->core, xid, inv_handle);
	return conn->core.state == RPCRDMA_CONN_CLOSING ?
		       conn->end(RPCRDMA2_ERR_CLOSED) :
		       0;
}

ptrdiff_t rpcrdma2_conn_write_pkt(struct rpcrdma2_conn *conn, void *buf,
				  size_t size, struct rpcrdma2_out *out,
				  uint64_t now)
{
	struct rpcrdma2_out unused;
	struct rpcrdma2_tx *tx;

	if (!out)
		out = &unused;
	*out = {};
	if (conn->error)
		return conn->error;
	if (size < rpcrdma2_conn_send_size(conn))
		return RPCRDMA2_ERR_BUFFER_SHORT;

	const struct rpcrdma_control control = rpcrdma_conn_next_control(
		&conn->core, buf, static_cast<u32>(RPCRDMA_V2_DEFAULT_INLINE));

	if (control.octets) {
		out->inv_handle = control.inv_handle;
		return control.octets;
	}
	tx = conn->next_tx();
	if (tx)
		return conn->write(tx, static_cast<u8 *>(buf), size, out);
	conn->watch(now);
	return conn->error;
}

uint64_t rpcrdma2_conn_get_expiry(const struct rpcrdma2_conn *conn)
{
	return min_u64(conn->opening_until, conn->stall_until);
}

int rpcrdma2_conn_handle_expiry(struct rpcrdma2_conn *conn, uint64_t now)
{
	if (conn->error)
		return conn->error;
	if (now >= conn->opening_until)
		return conn->end(RPCRDMA2_ERR_OPENING_TIMEOUT);
	if (now >= conn->stall_until)
		conn->watch(now);
	return conn->error;
}

void rpcrdma2_conn_close(struct rpcrdma2_conn *conn)
{
	conn->end(RPCRDMA2_ERR_CLOSED);
}

const char *rpcrdma2_conn_reason(const struct rpcrdma2_conn *conn)
{
	return conn->text;
}

void rpcrdma2_conn_get_info(const struct rpcrdma2_conn *conn,
			    struct rpcrdma2_conn_info *info)
{
	const struct rpcrdma_conn *core = &conn->core;
	const struct rpcrdma_conn_limits limits = rpcrdma_conn_limits(core);

	*info = {};
	info->version = core->version;
	info->version_why = rpcrdma_version_why(core);
	info->open = core->state == RPCRDMA_CONN_OPEN;
	info->refused_low = core->err_vers_low;
	info->refused_high = core->err_vers_high;
	info->heard = core->received != 0;
	info->own = from_core(core->cfg.props);
	info->peer = from_core(core->peer);
	info->peer_private = {
		.valid = core->peer_private.valid,
		.remote_invalidation = core->peer_private.inv_ok,
		.send_size = core->peer_private.send_size,
		.recv_size = core->peer_private.recv_size,
	};
	info->send_inline = limits.send_inline;
	info->recv_inline = limits.recv_inline;
	info->send_window =
		static_cast<u32>(window_left(core) > 0 ? window_left(core) : 0);
	info->recv_window =
		static_cast<u32>(peer_left(core) > 0 ? peer_left(core) : 0);
	info->sent = core->sent;
	info->received = core->received;
	for (u32 i = 0; i < RPCRDMA_NR_FORMATS; i++) {
		info->calls[i] = core->counters.calls[i];
		info->replies[i] = core->counters.replies[i];
	}
	info->grants_sent = core->counters.grants_sent;
	info->grants_received = core->counters.grants_received;
	info->errors_sent = core->counters.errors_sent;
	info->errors_received = core->counters.errors_received;
	info->dropped = core->counters.dropped;
	info->auth = rpcrdma_auth_name(rpcrdma_conn_auth_result(core));
	info->auth_hash = rpcrdma_auth_hash_name(core);
	info->auth_dh = rpcrdma_auth_group_name(core);
	info->auth_peer = rpcrdma_auth_peer(core);
}
