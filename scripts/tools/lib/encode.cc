// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Encoding messages, valid and invalid ones, as far as they have a form */
#include "internal.hh"

using namespace rpcrdma;

namespace
{

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
