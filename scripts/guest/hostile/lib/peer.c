// SPDX-License-Identifier: GPL-2.0
/* One end of a connection: see peer.h */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

int scale = 1;
const char *addr, *port;
int wake_fd = -1;
uint8_t *exposed;
struct ibv_mr *exposed_mr, *foreign_mr;
void (*on_request)(struct rdma_cm_id *id);
uint8_t request_private[sizeof(request_private)];
void (*on_bad)(const char *reason);
void (*on_news)(struct peer *p);

static struct rdma_event_channel *channel;
static struct ibv_context *device;
static struct ibv_comp_channel *comp;
static struct ibv_cq *cq;
static struct ibv_pd *pd;
static struct peer *peers;
static uint32_t serials;

static void need(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "hostile: %s: %s\n", what, strerror(errno));
		exit(2);
	}
}

void bad(const char *fmt, ...)
{
	char reason[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	on_bad(reason);
	abort();
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

struct rdma_event_channel *peer_channel(void)
{
	if (!channel) {
		channel = rdma_create_event_channel();
		need(channel, "rdma_create_event_channel");
		fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	}
	return channel;
}

/* Allocate the objects that all connections share, once the device is known. */
static void device_setup(struct ibv_context *context)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE;

	if (device)
		return;
	device = context;
	comp = ibv_create_comp_channel(device);
	need(comp, "ibv_create_comp_channel");
	fcntl(comp->fd, F_SETFL, O_NONBLOCK);
	cq = ibv_create_cq(device, 16384, NULL, comp, 0);
	need(cq, "ibv_create_cq");
	need(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
	pd = ibv_alloc_pd(device);
	need(pd, "ibv_alloc_pd");
	exposed = aligned_alloc(4096, EXPOSED);
	need(exposed, "memory");
	memset(exposed, 0, EXPOSED);
	exposed_mr = ibv_reg_mr(pd, exposed, EXPOSED, access);
	need(exposed_mr, "ibv_reg_mr");
	foreign_mr = ibv_reg_mr(ibv_alloc_pd(device), exposed, 4096, access);
	need(foreign_mr, "ibv_reg_mr");
}

struct peer *peer_new(void)
{
	struct peer *p = calloc(1, sizeof(*p));

	need(p, "memory");
	p->serial = ++serials;
	p->version = 2;
	p->nr_recvs = 96;
	p->recv_size = 4096;
	p->nr_sends = 64;
	p->credit = 64;
	p->limit = 1;
	p->xid = 0x1000 * p->serial;
	p->inbox_end = &p->inbox;
	p->next = peers;
	peers = p;
	return p;
}

void peer_free(struct peer *p)
{
	struct peer **pp;
	struct msg *m;

	for (pp = &peers; *pp != p; pp = &(*pp)->next)
		;
	*pp = p->next;
	if (p->id) {
		if (p->id->qp)
			rdma_destroy_qp(p->id);
		rdma_destroy_id(p->id);
	}
	if (p->mr)
		ibv_dereg_mr(p->mr);
	free(p->mem);
	while ((m = p->inbox)) {
		p->inbox = m->next;
		free(m);
	}
	free(p);
}

void peers_free(void)
{
	while (peers)
		peer_free(peers);
}

static struct peer *find_peer(uint32_t serial)
{
	struct peer *p;

	for (p = peers; p && p->serial != serial; p = p->next)
		;
	return p;
}

/* ---- The device's side ---- */

static void post_recv(struct peer *p, uint32_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->mem + slot * p->recv_size,
		.length = p->recv_size,
		.lkey = p->mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = (uint64_t)p->serial << 32 | slot,
		.sg_list = &sge,
		.num_sge = 1,
	}, *failed;

	ibv_post_recv(p->id->qp, &wr, &failed);
}

void peer_setup(struct peer *p)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {
			.max_send_wr = p->nr_sends,
			.max_recv_wr = p->nr_recvs + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	size_t size = p->nr_recvs * p->recv_size + p->nr_sends * SLOT;
	uint32_t i;

	device_setup(p->id->verbs);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	need(!rdma_create_qp(p->id, pd, &attr), "rdma_create_qp");
	p->mem = aligned_alloc(4096, size);
	need(p->mem, "memory");
	p->mr = ibv_reg_mr(pd, p->mem, size, IBV_ACCESS_LOCAL_WRITE);
	need(p->mr, "ibv_reg_mr");
	for (i = 0; i < p->nr_recvs; i++)
		post_recv(p, i);
}

/*
 * Update the limit from a header with a complete prefix: credits are not corrupted (WP
 * 3).
 */
static void take_credits(struct peer *p, const struct msg *m)
{
	uint32_t limit;

	p->received++;
	/*
	 * ERR_VERS has no credits. It resembles another ERROR, but can only be the first
	 * message.
	 */
	if (m->len < PREFIX || get(m->data, 4) != 2 ||
	    (p->received == 1 && m->len == 28 && get(m->data, 12) == ERROR &&
	     get(m->data, 16) == ERR_VERS))
		return;
	limit = get(m->data, 20) + get(m->data, 8);
	if ((int32_t)(limit - p->limit) > 0)
		p->limit = limit;
}

static void take_completion(struct ibv_wc *wc)
{
	struct peer *p = find_peer(wc->wr_id >> 32);
	uint32_t slot = wc->wr_id;
	struct msg *m;

	if (!p)
		return;
	if (wc->status != IBV_WC_SUCCESS) {
		if (!p->wc_error)
			p->wc_error = wc->status;
		p->closed = true;
		if (slot & 0x80000000)
			p->completed++;
		return;
	}
	if (slot & 0x80000000) {
		p->completed++;
		return;
	}
	m = malloc(sizeof(*m) + wc->byte_len);
	need(m, "memory");
	m->next = NULL;
	m->len = wc->byte_len;
	m->inv = wc->wc_flags & IBV_WC_WITH_INV ? wc->invalidated_rkey : 0;
	memcpy(m->data, p->mem + slot * p->recv_size, m->len);
	*p->inbox_end = m;
	p->inbox_end = &m->next;
	take_credits(p, m);
	post_recv(p, slot);
	if (on_news)
		on_news(p);
}

/* Copy private data: acknowledging the event frees it. */
static void keep_private(const struct rdma_conn_param *param, uint8_t to[8])
{
	size_t len = param->private_data_len;

	memset(to, 0, 8);
	if (param->private_data)
		memcpy(to, param->private_data, len < 8 ? len : 8);
}

static void take_cm_event(struct rdma_cm_event *event)
{
	struct peer *p = event->id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		p->connected = true;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (!p->server)
			keep_private(&event->param.conn, p->peer_private);
		p->connected = true;
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (on_request)
			on_request(event->id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (!p->closed && p->id->qp)
			rdma_disconnect(p->id);
		p->closed = true;
		break;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		p->refused = true;
		p->closed = true;
		break;
	default:
		return;
	}
	if (on_news && p)
		on_news(p);
}

void run_once(int ms)
{
	struct pollfd fds[3] = {
		{ .fd = peer_channel()->fd, .events = POLLIN },
		{ .fd = comp ? comp->fd : -1, .events = POLLIN },
		{ .fd = wake_fd, .events = POLLIN },
	};
	struct rdma_cm_event *event;
	struct ibv_wc wc[16];
	void *context;
	int i, n;

	poll(fds, 3, ms);
	/* Report it only once: a busy loop would occupy the only processor (../main.c). */
	if (fds[2].revents)
		wake_fd = -1;
	if (comp) {
		struct ibv_cq *which;

		if (fds[1].revents && !ibv_get_cq_event(comp, &which, &context)) {
			ibv_ack_cq_events(which, 1);
			ibv_req_notify_cq(cq, 0);
		}
		while ((n = ibv_poll_cq(cq, 16, wc)) > 0)
			for (i = 0; i < n; i++)
				take_completion(&wc[i]);
	}
	while (!rdma_get_cm_event(channel, &event)) {
		struct rdma_cm_event copy = *event;

		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			keep_private(&event->param.conn, request_private);
			/*
			 * The handler may destroy the id, which requires the
			 * acknowledgement.
			 */
			rdma_ack_cm_event(event);
			take_cm_event(&copy);
		} else {
			take_cm_event(event);
			rdma_ack_cm_event(event);
		}
	}
}

void peers_reap(void (*gone)(struct peer *p))
{
	struct peer *p, *next;

	for (p = peers; p; p = next) {
		next = p->next;
		if (p->closed && p->server)
			gone(p);
	}
}

bool peers_run(struct peer *p, int ms)
{
	double end = now() + ms * (p ? scale : 1) / 1e3;

	do {
		run_once(p && (p->inbox || p->closed) ? 0 : 20);
		if (p && (p->inbox || p->closed))
			return true;
	} while (now() < end);
	return false;
}

static void wait_cm(struct peer *p, const char *what)
{
	double end = now() + 30 * scale;

	while (!p->connected && !p->closed && now() < end)
		run_once(20);
	if (!p->connected || p->closed)
		bad("%s failed", what);
	p->connected = false;
}

/* ---- Connecting ---- */

void peer_param(struct peer *p, struct rdma_conn_param *param, uint32_t words[2])
{
	words[0] = htobe32(0xf6ab0e18);
	words[1] = htobe32(0x01000303 | (p->inv_ok ? 0x10000 : 0));
	if (p->private_words[0] || p->private_words[1])
		memcpy(words, p->private_words, 8);
	memset(param, 0, sizeof(*param));
	memset(p->own_private, 0, sizeof(p->own_private));
	if (!p->no_private) {
		memcpy(p->own_private, words, sizeof(p->own_private));
		param->private_data = words;
		param->private_data_len = 8;
	}
	param->responder_resources = 8;
	param->initiator_depth = 8;
	param->retry_count = 3;
	param->rnr_retry_count = 0;
}

void peer_prepare(struct peer *p, const char *addr, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;

	if (rdma_getaddrinfo(addr, port, &hints, &res))
		bad("%s: bad address", addr);
	need(!rdma_create_id(peer_channel(), &p->id, p, RDMA_PS_TCP), "rdma_create_id");
	need(!rdma_resolve_addr(p->id, NULL, res->ai_dst_addr, 5000), "rdma_resolve_addr");
	wait_cm(p, "rdma_resolve_addr");
	need(!rdma_resolve_route(p->id, 5000), "rdma_resolve_route");
	wait_cm(p, "rdma_resolve_route");
	rdma_freeaddrinfo(res);
	peer_setup(p);
}

void peer_request(struct peer *p)
{
	struct rdma_conn_param param;
	uint32_t words[2];

	peer_param(p, &param, words);
	need(!rdma_connect(p->id, &param), "rdma_connect");
}

void peer_connect_begin(struct peer *p, const char *addr, const char *port)
{
	peer_prepare(p, addr, port);
	peer_request(p);
}

void peer_connect(struct peer *p, const char *addr, const char *port)
{
	peer_connect_begin(p, addr, port);
	wait_cm(p, "connecting");
}

void peer_disconnect(struct peer *p)
{
	rdma_disconnect(p->id);
	p->closed = true;
}

void peer_die(struct peer *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	ibv_modify_qp(p->id->qp, &attr, IBV_QP_STATE);
}

/* ---- Messages ---- */

uint32_t get(const void *data, uint32_t offset)
{
	uint32_t word;

	memcpy(&word, (const uint8_t *)data + offset, 4);
	return be32toh(word);
}

uint64_t get64(const void *data, uint32_t offset)
{
	return (uint64_t)get(data, offset) << 32 | get(data, offset + 4);
}

void put(void *data, uint32_t offset, uint32_t word)
{
	word = htobe32(word);
	memcpy((uint8_t *)data + offset, &word, 4);
}

void w(struct peer *p, uint32_t word)
{
	if (p->len + 4 > sizeof(p->out))
		bad("the message exceeds this program's limit of %zu bytes", sizeof(p->out));
	put(p->out, p->len, word);
	p->len += 4;
}

void wv(struct peer *p, int count, va_list args)
{
	while (count--)
		w(p, va_arg(args, uint32_t));
}

void ww(struct peer *p, int count, ...)
{
	va_list args;

	va_start(args, count);
	wv(p, count, args);
	va_end(args);
}

void raw(struct peer *p)
{
	p->len = 0;
	p->stamp = false;
}

void begin(struct peer *p, uint32_t xid, uint32_t type, uint32_t flags)
{
	raw(p);
	p->stamp = true;
	ww(p, 4, xid, p->version, p->credit, type);
	if (p->version == 2)
		ww(p, 2, flags, 0);
}

void no_lists(struct peer *p)
{
	ww(p, 3, 0, 0, 0);
	if (p->version == 2)
		w(p, 0);
}

void prop(struct peer *p, uint32_t id, uint32_t value)
{
	ww(p, 3, id, 4, value);
}

void segment(struct peer *p, uint32_t handle, uint32_t len, uint64_t offset)
{
	ww(p, 4, handle, len, (uint32_t)(offset >> 32), (uint32_t)offset);
}

void read_segment(struct peer *p, uint32_t position, uint32_t handle,
		  uint32_t len, uint64_t offset)
{
	ww(p, 2, 1, position);
	segment(p, handle, len, offset);
}

void rpc_call(struct peer *p, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc)
{
	ww(p, 6, xid, 0, 2, prog, vers, proc);
	/* AUTH_SYS of root without groups; no verifier */
	ww(p, 7, 1, 20, 0, 0, 0, 0, 0);
	ww(p, 2, 0, 0);
}

void rpc_null(struct peer *p, uint32_t xid)
{
	ww(p, 10, xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0);
}

static bool post(struct peer *p, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *failed;

	wr->wr_id = (uint64_t)p->serial << 32 | 0x80000000;
	if (ibv_post_send(p->id->qp, wr, &failed))
		return false;
	p->posted++;
	return true;
}

bool sends_done(struct peer *p)
{
	double end = now() + 30 * scale;

	while (p->completed != p->posted && now() < end)
		run_once(20);
	return p->completed == p->posted && !p->wc_error;
}

void send_inv(struct peer *p, uint32_t handle)
{
	double end = now() + 20 * scale;
	uint8_t *slot = p->mem + p->nr_recvs * p->recv_size + p->posted % p->nr_sends * SLOT;
	struct ibv_sge sge = { .addr = (uintptr_t)slot, .length = p->len, .lkey = p->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = p->len ? 1 : 0 };

	while (!p->closed && now() < end &&
	       (p->posted - p->completed >= p->nr_sends / 2 ||
		(!p->no_wait && p->version == 2 && (int32_t)(p->limit - p->sent) <= 0)))
		run_once(20);
	if (p->closed)
		return;
	if (now() >= end)
		bad("the peer granted no credit in time: %u sent, limit %u", p->sent, p->limit);
	if (p->len > SLOT)
		bad("a message of %u bytes is too long for this program", p->len);
	if (p->stamp && p->version == 2) {
		put(p->out, 8, p->credit);
		put(p->out, 20, p->received);
	}
	memcpy(slot, p->out, p->len);
	wr.opcode = handle ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
	wr.invalidate_rkey = handle;
	p->sent++;
	if (!post(p, &wr))
		p->closed = true;
}

void send_out(struct peer *p)
{
	send_inv(p, 0);
}

void rdma_post(struct peer *p, bool read, uint32_t at, uint32_t len,
	       uint32_t handle, uint64_t offset)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)exposed + at,
		.length = len,
		.lkey = exposed_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = offset, .rkey = handle },
	};

	if (at > EXPOSED || len > EXPOSED - at)
		bad("a transfer of %u bytes is too long for this program", len);
	if (!p->closed && !post(p, &wr))
		p->closed = true;
}

struct msg *receive(struct peer *p, int ms)
{
	struct msg *m;

	peers_run(p, ms);
	m = p->inbox;
	if (m) {
		p->inbox = m->next;
		if (!p->inbox)
			p->inbox_end = &p->inbox;
	}
	return m;
}

bool is_grant(const struct msg *m)
{
	return m->len == HEADER && get(m->data, 4) == 2 && get(m->data, 12) == NOMSG &&
	       !get(m->data, 0);
}

struct msg *receive_more(struct peer *p, int ms)
{
	struct msg *m;

	while ((m = receive(p, ms)) && is_grant(m))
		free(m);
	return m;
}

const char *describe(const struct msg *m)
{
	static char text[256];
	uint32_t i, n;

	if (!m)
		return "nothing";
	n = snprintf(text, sizeof(text), "%u octets", m->len);
	for (i = 0; i < 10 && i * 4 + 4 <= m->len; i++)
		n += snprintf(text + n, sizeof(text) - n, " %x", get(m->data, i * 4));
	return text;
}
