// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Decoding messages. The core's decoder of chunk lists stops at the limits of its own end,
 * and does not report the position of a fault. This one has no limits, and reports the
 * position. Both read words with the same reader, and a test compares their results.
 */
#include "internal.hh"

using namespace rpcrdma;
using namespace rpcrdma2;

namespace
{

/* States of an iterator over items */
enum {
	AT_READS,
	AT_WRITES,
	IN_WRITE,
	AT_REPLY,
	IN_REPLY,
	AT_PROPS,
	AT_END,
};

constexpr u32 PROP_HEADER = 8; /* id and length */

/* Return true if the core accepts that value of a property. */
bool prop_ok(u32 id, u32 length, u32 value)
{
	struct rpcrdma_props props = DEFAULT_PROPS;
	u32 words[4];
	xdr_writer out{ words };

	out.word(1);
	out.word(id);
	out.word(length);
	out.word(value);

	xdr_reader in{ words, sizeof(words), 0 };

	return !decode_props(in, &props);
}

/* Return true if the core knows the property. Its data is at most a word. */
bool prop_known(u32 id)
{
	/* No property has two bytes of data. */
	return !prop_ok(id, 2, 0);
}

/* Return 1 if an item follows, 0 at the end of the list, or an error. */
int one_more(struct rpcrdma2_items *at, xdr_reader &in)
{
	if (!in.has(sizeof(u32)))
		return RPCRDMA2_ERR_SHORT;

	const u32 more = in.word();

	if (more > 1)
		return RPCRDMA2_ERR_BOOL;
	at->offset = in.offset();
	return static_cast<int>(more);
}

int read_item(struct rpcrdma2_items *at, xdr_reader &in,
	      struct rpcrdma2_item *item)
{
	if (!in.has(READ_SEGMENT_OCTETS - sizeof(u32))) {
		at->offset += in.left() & ~3u;
		return RPCRDMA2_ERR_SHORT;
	}
	item->kind = RPCRDMA2_ITEM_READ;
	item->octets = READ_SEGMENT_OCTETS;
	item->position = in.word();
	item->handle = in.word();
	item->length = in.word();
	item->address = in.hyper();
	if (item->position % sizeof(u32))
		return RPCRDMA2_ERR_ALIGNMENT;
	if (!at->any_order && item->position < at->position)
		return RPCRDMA2_ERR_ORDER;
	at->position = item->position;
	return 1;
}

int segment_item(struct rpcrdma2_items *at, xdr_reader &in,
		 struct rpcrdma2_item *item)
{
	/* The count has shown that the word is there. */
	item->kind = RPCRDMA2_ITEM_SEGMENT;
	item->octets = SEGMENT_OCTETS;
	item->handle = in.word();
	item->length = in.word();
	item->address = in.hyper();
	at->left--;
	return 1;
}

int array_item(struct rpcrdma2_items *at, xdr_reader &in, u32 kind,
	       struct rpcrdma2_item *item)
{
	if (!in.has(sizeof(u32)))
		return RPCRDMA2_ERR_SHORT;
	item->kind = kind;
	item->octets = WRITE_CHUNK_OCTETS;
	item->count = in.word();
	if (item->count > in.left() / SEGMENT_OCTETS)
		return RPCRDMA2_ERR_COUNT;
	at->left = item->count;
	return 1;
}

int prop_item(struct rpcrdma2_items *at, xdr_reader &in,
	      struct rpcrdma2_item *item)
{
	if (!in.has(PROP_HEADER)) {
		at->offset += in.left() & ~3u;
		return RPCRDMA2_ERR_SHORT;
	}
	item->kind = RPCRDMA2_ITEM_PROPERTY;
	item->id = in.word();
	item->length = in.word();
	at->offset += sizeof(u32);
	if (roundup4(item->length) > in.left())
		return RPCRDMA2_ERR_PROP_LENGTH;
	item->data = at->pkt + in.offset();
	item->octets = PROP_HEADER + static_cast<u32>(roundup4(item->length));
	if (prop_known(item->id)) {
		if (item->length && item->length != sizeof(u32))
			return RPCRDMA2_ERR_PROP_LENGTH;
		at->offset += sizeof(u32);
		if (item->length && !prop_ok(item->id, item->length, in.word()))
			return RPCRDMA2_ERR_PROP_VALUE;
	}
	in = { at->pkt, at->length, item->offset + item->octets };
	at->left--;
	return 1;
}

/* Return 1 with an item, 0 to continue in another state, or an error. */
int step(struct rpcrdma2_items *at, xdr_reader &in, struct rpcrdma2_item *item)
{
	int rc;

	switch (at->state) {
	case AT_READS:
		rc = one_more(at, in);
		if (!rc)
			at->state = AT_WRITES;
		return rc > 0 ? read_item(at, in, item) : rc;
	case AT_WRITES:
		rc = one_more(at, in);
		if (!rc)
			at->state = AT_REPLY;
		if (rc <= 0)
			return rc;
		at->state = IN_WRITE;
		return array_item(at, in, RPCRDMA2_ITEM_WRITE, item);
	case AT_REPLY:
		rc = one_more(at, in);
		if (!rc)
			at->state = AT_END;
		if (rc <= 0)
			return rc;
		at->state = IN_REPLY;
		return array_item(at, in, RPCRDMA2_ITEM_REPLY, item);
	case IN_WRITE:
	case IN_REPLY:
		if (at->left)
			return segment_item(at, in, item);
		at->state = at->state == IN_WRITE ? +AT_WRITES : +AT_END;
		return 0;
	default:
		if (at->left)
			return prop_item(at, in, item);
		at->state = AT_END;
		return 0;
	}
}

/* The state of decoding a message, with a report of each field */
class decoder
{
public:
	using function = void (*)(void *, const struct rpcrdma2_field *);

	decoder(struct rpcrdma2_msg *msg, const void *pkt, u32 length,
		function each, void *user)
		: msg_{ msg }, pkt_{ pkt }, in_{ pkt, length, 0 },
		  length_{ length }, each_{ each }, user_{ user }
	{
	}

	struct rpcrdma2_fault run();

private:
	bool word(const char *name, u32 &value,
		  const char *(*text)(u32) = nullptr);
	bool fail(int error, u32 offset);
	void report(const char *name, u32 offset, u32 octets, u64 value,
		    const char *text = nullptr);
	void report(const struct rpcrdma2_item &item);
	bool is_err_vers() const;
	bool err_vers();
	bool body_v1();
	bool body_v2();
	bool error();
	bool items(u32 state, u32 left);

	struct rpcrdma2_msg *msg_;
	const void *pkt_;
	xdr_reader in_;
	u32 length_;
	function each_;
	void *user_;
	struct rpcrdma2_fault fault_ = { 0, 0 };
};

bool decoder::fail(int error, u32 offset)
{
	fault_ = { error, offset };
	return false;
}

void decoder::report(const char *name, u32 offset, u32 octets, u64 value,
		     const char *text)
{
	const struct rpcrdma2_field field = {
		.name = name,
		.offset = offset,
		.octets = octets,
		.value = value,
		.text = text,
	};

	if (each_)
		each_(user_, &field);
}

/* Report the words of an item. */
void decoder::report(const struct rpcrdma2_item &item)
{
	const u32 end = item.offset + item.octets;

	switch (item.kind) {
	case RPCRDMA2_ITEM_READ:
		report("rdma_position", item.offset + 4, 4, item.position);
		[[fallthrough]];
	case RPCRDMA2_ITEM_SEGMENT:
		report("rdma_handle", end - 16, 4, item.handle);
		report("rdma_length", end - 12, 4, item.length);
		report("rdma_offset", end - 8, 8, item.address);
		break;
	case RPCRDMA2_ITEM_WRITE:
		report("write_chunk_segments", end - 4, 4, item.count);
		break;
	case RPCRDMA2_ITEM_REPLY:
		report("reply_chunk_segments", end - 4, 4, item.count);
		break;
	default:
		report("rdma_propid", item.offset, 4, item.id,
		       rpcrdma2_prop_name(item.id));
		report("rdma_prop_length", item.offset + 4, 4, item.length);
		if (item.length)
			report("rdma_prop_data", item.offset + PROP_HEADER,
			       item.length,
			       item.length == 4 ? load_word(item.data, 0) : 0);
		break;
	}
}

/* Decode a word. @name is not null if the word is a separate field. */
bool decoder::word(const char *name, u32 &value, const char *(*text)(u32))
{
	const u32 offset = in_.offset();

	if (!in_.get(value))
		return fail(RPCRDMA2_ERR_SHORT, offset);
	if (name)
		report(name, offset, sizeof(u32), value,
		       text ? text(value) : nullptr);
	return true;
}

const char *name_v1(u32 type)
{
	return rpcrdma2_type_name(RPCRDMA_VERS_1, type);
}

const char *name_v2(u32 type)
{
	return rpcrdma2_type_name(RPCRDMA_VERS_2, type);
}

/* Return true if the message has the form that all versions share (WP 1). */
bool decoder::is_err_vers() const
{
	if (length_ < v1::ERR_VERS_OCTETS)
		return false;

	const span<v1::ERR_VERS_OCTETS> m{ pkt_ };

	if (m.word<v1::OFF_PROC>() != v1::RDMA_ERROR ||
	    m.word<v1::OFF_ERR>() != v1::ERR_VERS)
		return false;
	switch (m.word<v1::OFF_VERS>()) {
	case RPCRDMA_VERS_1:
		return true;
	case RPCRDMA_VERS_2:
		return length_ == v1::ERR_VERS_OCTETS &&
		       m.word<v1::OFF_ERR_HIGH>() == RPCRDMA_VERS_1;
	default:
		return length_ == v1::ERR_VERS_OCTETS;
	}
}

bool decoder::err_vers()
{
	msg_->err_vers = 1;
	msg_->nr_args = 2;
	return word("rdma_err", msg_->code, name_err_v1) &&
	       word("rdma_vers_low", msg_->arg[0]) &&
	       word("rdma_vers_high", msg_->arg[1]);
}

bool decoder::items(u32 state, u32 left)
{
	struct rpcrdma2_item item;
	struct rpcrdma2_items at = {
		.offset = in_.offset(),
		.pkt = static_cast<const unsigned char *>(pkt_),
		.length = length_,
		.state = state,
		.left = left,
		.position = 0,
		.any_order = msg_->version == RPCRDMA_VERS_1,
	};
	int rc;

	msg_->items_offset = in_.offset();
	while ((rc = rpcrdma2_items_next(&at, &item)) > 0) {
		msg_->nr_items++;
		switch (item.kind) {
		case RPCRDMA2_ITEM_READ:
			msg_->nr_reads++;
			break;
		case RPCRDMA2_ITEM_WRITE:
			msg_->nr_writes++;
			break;
		case RPCRDMA2_ITEM_REPLY:
			msg_->has_reply = 1;
			break;
		case RPCRDMA2_ITEM_PROPERTY:
			msg_->nr_props++;
			break;
		default:
			break;
		}
		report(item);
	}
	in_ = { pkt_, length_, at.offset };
	return !rc || fail(rc, at.offset);
}

bool decoder::body_v1()
{
	if (msg_->type > v1::RDMA_ERROR)
		return fail(RPCRDMA2_ERR_TYPE, v1::OFF_PROC);
	switch (msg_->type) {
	case v1::RDMA_DONE:
		return true;
	case v1::RDMA_ERROR:
		return word("rdma_err", msg_->code, name_err_v1);
	case v1::RDMA_MSGP:
		if (!word("rdma_align", msg_->align) ||
		    !word("rdma_thresh", msg_->thresh))
			return false;
		break;
	default:
		break;
	}
	return items(AT_READS, 0);
}

bool decoder::error()
{
	if (!word("rdma_err", msg_->code, rpcrdma2_code_name))
		return false;

	/* The words after an unknown code have no known meaning. */
	const error_info *const info = find_error(msg_->code);
	const u32 words = info ? info->words : 0;

	for (; msg_->nr_args < words; msg_->nr_args++) {
		if (!word("rdma_err_data", msg_->arg[msg_->nr_args]))
			return false;
	}
	return true;
}

bool decoder::body_v2()
{
	u32 count;

	if (!word("rdma_flags", msg_->flags) ||
	    !word("rdma_received", msg_->received))
		return false;
	switch (msg_->type) {
	case RDMA2_MSG:
	case RDMA2_NOMSG:
		return word("rdma_inv_handle", msg_->inv_handle) &&
		       items(AT_READS, 0);
	case RDMA2_DONE:
		return true;
	case RDMA2_ERROR:
		return error();
	case RDMA2_CONNPROP:
		return word("rdma_nr_props", count) && items(AT_PROPS, count);
	default:
		return fail(RPCRDMA2_ERR_TYPE, v2::OFF_HTYPE);
	}
}

struct rpcrdma2_fault decoder::run()
{
	const bool shared = is_err_vers();
	bool ok = word("rdma_xid", msg_->xid) &&
		  word("rdma_vers", msg_->version) &&
		  word("rdma_credit", msg_->credit);

	if (ok && msg_->version == RPCRDMA_VERS_1)
		ok = word("rdma_proc", msg_->type, name_v1);
	else if (ok)
		ok = word("rdma_htype", msg_->type, name_v2);
	if (!ok)
		return fault_;

	if (shared)
		ok = err_vers();
	else if (msg_->version == RPCRDMA_VERS_1)
		ok = body_v1();
	else if (msg_->version == RPCRDMA_VERS_2)
		ok = body_v2();
	else
		ok = fail(RPCRDMA2_ERR_VERSION, v1::OFF_VERS);
	if (ok) {
		msg_->payload_offset = in_.offset();
		msg_->payload_length = in_.left();
	}
	return fault_;
}

} // namespace

int rpcrdma2_msg_decode(struct rpcrdma2_msg *msg, const void *pkt,
			size_t length, struct rpcrdma2_fault *fault)
{
	*msg = {};

	const struct rpcrdma2_fault found =
		decoder{ msg, pkt, clamp_length(length), nullptr, nullptr }
			.run();

	if (fault)
		*fault = found;
	return found.error;
}

int rpcrdma2_msg_fields(const void *pkt, size_t length,
			void (*each)(void *, const struct rpcrdma2_field *),
			void *user, struct rpcrdma2_fault *fault)
{
	struct rpcrdma2_msg msg = {};
	const struct rpcrdma2_fault found =
		decoder{ &msg, pkt, clamp_length(length), each, user }.run();

	if (fault)
		*fault = found;
	return found.error;
}

void rpcrdma2_items_begin(struct rpcrdma2_items *at,
			  const struct rpcrdma2_msg *msg, const void *pkt,
			  size_t length)
{
	*at = {
		.offset = msg->items_offset,
		.pkt = static_cast<const unsigned char *>(pkt),
		.length = clamp_length(length),
		.state = AT_READS,
		.left = 0,
		.position = 0,
		.any_order = msg->version == RPCRDMA_VERS_1,
	};
	if (!msg->items_offset || msg->items_offset > at->length) {
		at->state = AT_END;
	} else if (msg->version == RPCRDMA_VERS_2 &&
		   msg->type == RDMA2_CONNPROP) {
		at->state = AT_PROPS;
		at->left = msg->nr_props;
	}
}

int rpcrdma2_items_next(struct rpcrdma2_items *at, struct rpcrdma2_item *item)
{
	while (at->state != AT_END) {
		xdr_reader in{ at->pkt, at->length, at->offset };

		*item = {};
		item->offset = at->offset;

		const int rc = step(at, in, item);

		if (rc < 0) {
			at->state = AT_END;
			return rc;
		}
		at->offset = in.offset();
		if (rc)
			return 1;
	}
	return 0;
}

void rpcrdma2_private_decode(struct rpcrdma2_private *priv, const void *buf,
			     size_t length)
{
	struct rpcrdma_private decoded;

	rpcrdma_decode_private(buf, clamp_length(length), &decoded);
	*priv = {
		.valid = decoded.valid,
		.remote_invalidation = decoded.inv_ok,
		.send_size = decoded.send_size,
		.recv_size = decoded.recv_size,
	};
}
