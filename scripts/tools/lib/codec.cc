// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The library's codec. The core's decoder of chunk lists stops at the limits of its own
 * end, and does not report the position of a fault. This one has no limits, and reports
 * the position. Both read words with the same reader, and a test compares their results.
 */
#include "internal.hh"

using namespace rpcrdma;

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

const char *name_err_v1(u32 code)
{
	switch (code) {
	case v1::ERR_VERS:
		return "ERR_VERS";
	case v1::ERR_CHUNK:
		return "ERR_CHUNK";
	default:
		return nullptr;
	}
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

/* Lengths of messages are 32 bits. The bytes beyond that are not decoded. */
u32 clamp_length(size_t length)
{
	return static_cast<u32>(length > ~u32{} ? ~u32{} : length);
}

/* ---- Rules ---- */

constexpr struct rpcrdma2_fault FINE = { 0, 0 };

struct rpcrdma2_fault check_flags(const struct rpcrdma2_msg *msg)
{
	const bool control = msg->type == RDMA2_CONNPROP ||
			     msg->type == RDMA2_DONE;
	const bool response = msg->flags & RDMA2_F_RESPONSE;

	if ((msg->flags & RDMA2_F_MORE && msg->type != RDMA2_MSG) ||
	    (msg->flags & RDMA2_F_TPMORE && msg->type != RDMA2_CONNPROP) ||
	    (control && response) || (msg->type == RDMA2_ERROR && !response))
		return { RPCRDMA2_ERR_FLAGS, v2::OFF_FLAGS };
	if (msg->type == RDMA2_CONNPROP && msg->xid)
		return { RPCRDMA2_ERR_XID, v2::OFF_XID };
	return FINE;
}

/* Return the fault of the lists of a version 2 message. */
struct rpcrdma2_fault check_lists(const struct rpcrdma2_msg *msg,
				  const void *pkt, u32 length)
{
	const bool response = msg->flags & RDMA2_F_RESPONSE;
	const bool nomsg = msg->type == RDMA2_NOMSG;
	const u32 at = msg->items_offset;
	struct rpcrdma2_items items;
	struct rpcrdma2_item item;

	if (msg->flags & RDMA2_F_MORE && msg->nr_items)
		return { RPCRDMA2_ERR_MORE_CHUNKS, at };
	if (nomsg && !msg->nr_items) {
		/* A credit grant */
		if (msg->xid)
			return { RPCRDMA2_ERR_NO_POSITION_ZERO, at };
		if (response)
			return { RPCRDMA2_ERR_FLAGS, v2::OFF_FLAGS };
		return FINE;
	}
	if (!nomsg && response && msg->nr_reads)
		return { RPCRDMA2_ERR_REPLY_READS, at };
	if (nomsg && !msg->nr_reads && !(response && msg->has_reply))
		return { RPCRDMA2_ERR_NO_POSITION_ZERO, at };

	rpcrdma2_items_begin(&items, msg, pkt, length);
	for (u32 i = 0; i < msg->nr_reads; i++) {
		rpcrdma2_items_next(&items, &item);
		if (nomsg && !i && item.position)
			return { RPCRDMA2_ERR_NO_POSITION_ZERO,
				 item.offset + 4 };
		if (!nomsg && !item.position)
			return { RPCRDMA2_ERR_POSITION_ZERO, item.offset + 4 };
		if (response && item.position)
			return { RPCRDMA2_ERR_REPLY_READS, item.offset + 4 };
	}
	return FINE;
}

/* A version 1 message is complete: its payload has all that has to be checked. */
struct rpcrdma2_fault check_v1(const struct rpcrdma2_msg *msg, const void *pkt)
{
	const u32 at = msg->payload_offset;

	if (msg->type == v1::RDMA_NOMSG) {
		if (!msg->nr_reads && !msg->has_reply)
			return { RPCRDMA2_ERR_NO_POSITION_ZERO,
				 msg->items_offset };
		return FINE;
	}
	if (msg->type == v1::RDMA_ERROR && !name_err_v1(msg->code))
		return { RPCRDMA2_ERR_CODE, v1::OFF_ERR };
	if (msg->type != v1::RDMA_MSG && msg->type != v1::RDMA_MSGP)
		return FINE;
	if (msg->payload_length < RPC_MIN_OCTETS)
		return { RPCRDMA2_ERR_PAYLOAD, at };
	if (load_word(pkt, at) != msg->xid)
		return { RPCRDMA2_ERR_XID, at };

	const u32 direction = load_word(pkt, at + 4);

	if (direction > 1)
		return { RPCRDMA2_ERR_DIRECTION, at + 4 };
	if (direction && msg->nr_reads)
		return { RPCRDMA2_ERR_REPLY_READS, msg->items_offset };
	return FINE;
}

struct rpcrdma2_fault check_v2(const struct rpcrdma2_msg *msg, const void *pkt,
			       u32 length)
{
	struct rpcrdma2_fault fault = check_flags(msg);

	if (fault.error)
		return fault;
	if (msg->type == RDMA2_ERROR &&
	    (!find_error(msg->code) || msg->code == RDMA2_ERR_VERS))
		return { RPCRDMA2_ERR_CODE, RPCRDMA_V2_PREFIX };
	if (msg->type != RDMA2_MSG && msg->type != RDMA2_NOMSG)
		return FINE;
	fault = check_lists(msg, pkt, length);
	if (fault.error || msg->type == RDMA2_NOMSG)
		return fault;
	/* The message may be any one of a continued message. */
	if (msg->payload_length < sizeof(u32) ||
	    (msg->flags & RDMA2_F_MORE && msg->payload_length % sizeof(u32)))
		return { RPCRDMA2_ERR_PAYLOAD, msg->payload_offset };
	return FINE;
}

/* ---- Encoding ---- */

/* Write words, as far as there is space. */
class encoder
{
public:
	encoder(void *buf, size_t size)
		: buf_{ static_cast<u8 *>(buf) }, size_{ size }
	{
	}

	void word(u32 value)
	{
		if (size_ - length_ < sizeof(u32)) {
			full_ = true;
			return;
		}
		store_word(buf_ + length_, 0, value);
		length_ += sizeof(u32);
	}

	void opaque(const void *data, u32 length)
	{
		const size_t whole = static_cast<size_t>(roundup4(length));

		if (size_ - length_ < whole) {
			full_ = true;
			return;
		}
		if (length)
			__builtin_memcpy(buf_ + length_, data, length);
		__builtin_memset(buf_ + length_ + length, 0, whole - length);
		length_ += whole;
	}

	void segment(const struct rpcrdma2_item &item)
	{
		word(item.handle);
		word(item.length);
		word(static_cast<u32>(item.address >> 32));
		word(static_cast<u32>(item.address));
	}

	ptrdiff_t result() const
	{
		return full_ ? ptrdiff_t{ RPCRDMA2_ERR_BUFFER_SHORT } :
			       static_cast<ptrdiff_t>(length_);
	}

private:
	u8 *buf_;
	size_t size_;
	size_t length_ = 0;
	bool full_ = false;
};

/* Encodes chunk lists item by item. */
class list_encoder
{
public:
	explicit list_encoder(encoder &out, bool any_order)
		: out_{ out }, any_order_{ any_order }
	{
	}

	/* Returns false if the item cannot follow those before it. */
	bool item(const struct rpcrdma2_item &item);
	bool end();

private:
	enum list {
		READS,
		WRITES,
		REPLY
	};

	/* Terminate the lists before @list. */
	bool go_to(list to)
	{
		if (left_ || at_ > to)
			return false;
		for (; at_ < to; at_++)
			out_.word(0);
		return true;
	}

	encoder &out_;
	bool any_order_;
	int at_ = READS;
	u32 left_ = 0; /* segments of the chunk that was begun */
	u32 position_ = 0;
};

bool list_encoder::item(const struct rpcrdma2_item &item)
{
	switch (item.kind) {
	case RPCRDMA2_ITEM_READ:
		if (!go_to(READS) || item.position % sizeof(u32) ||
		    (!any_order_ && item.position < position_))
			return false;
		position_ = item.position;
		out_.word(1);
		out_.word(item.position);
		out_.segment(item);
		return true;
	case RPCRDMA2_ITEM_WRITE:
	case RPCRDMA2_ITEM_REPLY:
		if (!go_to(item.kind == RPCRDMA2_ITEM_WRITE ? WRITES : REPLY))
			return false;
		out_.word(1);
		out_.word(item.count);
		left_ = item.count;
		/* There is one Reply chunk, without a terminator. */
		if (item.kind == RPCRDMA2_ITEM_REPLY)
			at_ = REPLY + 1;
		return true;
	case RPCRDMA2_ITEM_SEGMENT:
		if (!left_)
			return false;
		left_--;
		out_.segment(item);
		return true;
	default:
		return false;
	}
}

bool list_encoder::end()
{
	if (left_)
		return false;
	for (; at_ <= REPLY; at_++)
		out_.word(0);
	return true;
}

bool encode_lists(encoder &out, const struct rpcrdma2_msg *msg,
		  const struct rpcrdma2_item *items, size_t nr_items)
{
	list_encoder lists{ out, msg->version == RPCRDMA_VERS_1 };

	for (size_t i = 0; i < nr_items; i++) {
		if (!lists.item(items[i]))
			return false;
	}
	return lists.end();
}

bool encode_props(encoder &out, const struct rpcrdma2_item *items,
		  size_t nr_items)
{
	out.word(static_cast<u32>(nr_items));
	for (size_t i = 0; i < nr_items; i++) {
		if (items[i].kind != RPCRDMA2_ITEM_PROPERTY ||
		    (items[i].length && !items[i].data))
			return false;
		out.word(items[i].id);
		out.word(items[i].length);
		out.opaque(items[i].data, items[i].length);
	}
	return true;
}

bool encode_v1(encoder &out, const struct rpcrdma2_msg *msg,
	       const struct rpcrdma2_item *items, size_t nr_items)
{
	switch (msg->type) {
	case v1::RDMA_MSGP:
		out.word(msg->align);
		out.word(msg->thresh);
		[[fallthrough]];
	case v1::RDMA_MSG:
	case v1::RDMA_NOMSG:
		return encode_lists(out, msg, items, nr_items);
	case v1::RDMA_ERROR:
		out.word(msg->code);
		return !nr_items;
	case v1::RDMA_DONE:
		return !nr_items;
	default:
		return false;
	}
}

bool encode_v2(encoder &out, const struct rpcrdma2_msg *msg,
	       const struct rpcrdma2_item *items, size_t nr_items)
{
	const error_info *info;

	out.word(msg->flags);
	out.word(msg->received);
	switch (msg->type) {
	case RDMA2_MSG:
	case RDMA2_NOMSG:
		out.word(msg->inv_handle);
		return encode_lists(out, msg, items, nr_items);
	case RDMA2_DONE:
		return !nr_items;
	case RDMA2_ERROR:
		out.word(msg->code);
		info = find_error(msg->code);
		for (u32 i = 0; info && i < info->words; i++)
			out.word(msg->arg[i]);
		return !nr_items;
	case RDMA2_CONNPROP:
		return encode_props(out, items, nr_items);
	default:
		return false;
	}
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

int rpcrdma2_msg_check(const struct rpcrdma2_msg *msg, const void *pkt,
		       size_t length, struct rpcrdma2_fault *fault)
{
	struct rpcrdma2_fault found = FINE;

	if (!msg->err_vers)
		found = msg->version == RPCRDMA_VERS_1 ?
				check_v1(msg, pkt) :
				check_v2(msg, pkt, clamp_length(length));
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

ptrdiff_t rpcrdma2_msg_encode(void *buf, size_t size,
			      const struct rpcrdma2_msg *msg,
			      const struct rpcrdma2_item *items,
			      size_t nr_items)
{
	encoder out{ buf, size };
	bool ok;

	if (nr_items > ~u32{})
		return RPCRDMA2_ERR_INVALID;
	out.word(msg->xid);
	out.word(msg->version);
	out.word(msg->credit);
	out.word(msg->type);
	if (msg->err_vers) {
		out.word(RDMA2_ERR_VERS);
		out.word(msg->arg[0]);
		out.word(msg->arg[1]);
		ok = msg->type == RDMA2_ERROR && !nr_items;
	} else if (msg->version == RPCRDMA_VERS_1) {
		ok = encode_v1(out, msg, items, nr_items);
	} else {
		ok = msg->version == RPCRDMA_VERS_2 &&
		     encode_v2(out, msg, items, nr_items);
	}
	return ok ? out.result() : ptrdiff_t{ RPCRDMA2_ERR_INVALID };
}

const char *rpcrdma2_type_name(uint32_t version, uint32_t type)
{
	static constexpr const char *V1[] = { "RDMA_MSG", "RDMA_NOMSG",
					      "RDMA_MSGP", "RDMA_DONE",
					      "RDMA_ERROR" };
	static constexpr const char *V2[] = { "RDMA2_MSG",   "RDMA2_NOMSG",
					      nullptr,	     "RDMA2_DONE",
					      "RDMA2_ERROR", "RDMA2_CONNPROP" };

	if (version == RPCRDMA_VERS_1)
		return type < sizeof(V1) / sizeof(V1[0]) ? V1[type] : nullptr;
	return type < sizeof(V2) / sizeof(V2[0]) ? V2[type] : nullptr;
}

const char *rpcrdma2_code_name(uint32_t code)
{
	const error_info *info = find_error(code);

	return info ? info->name : nullptr;
}

const char *rpcrdma2_prop_name(uint32_t id)
{
	switch (id) {
	case RPCRDMA2_PROP_SBSIZ:
		return "Maximum Send Size";
	case RPCRDMA2_PROP_RBSIZ:
		return "Receive Buffer Size";
	case RPCRDMA2_PROP_RSSIZ:
		return "Maximum Segment Size";
	case RPCRDMA2_PROP_RCSIZ:
		return "Maximum Segment Count";
	case RPCRDMA2_PROP_BRS:
		return "Reverse-Direction Support";
	case RPCRDMA2_PROP_HOSTAUTH:
		return "Host Authentication";
	case RPCRDMA2_PROP_REPLY_READ:
		return "Reply Read";
	case RPCRDMA2_PROP_REASSEMBLY:
		return "Reassembly";
	default:
		return nullptr;
	}
}

void rpcrdma2_private_encode(const struct rpcrdma2_private *priv, void *buf)
{
	const struct rpcrdma_private own = {
		.valid = 1,
		.inv_ok = priv->remote_invalidation != 0,
		.send_size = priv->send_size,
		.recv_size = priv->recv_size,
	};

	rpcrdma_encode_private(&own, static_cast<u8 *>(buf));
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
