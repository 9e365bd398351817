// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Receives of a connection: their number, when they are posted, and what follows
 * if there is no memory for them.
 *
 * Operation
 *
 * A window needs as many Receives as it has messages, one as a reserve for a credit
 * grant, and at a server of version 1 some spare ones. With version 2 a window begins
 * small. It grows when the peer knows the present window, and either has no more than
 * half of it left, or the connection is in use (IN_USE) and its window is smaller than
 * usual. A window is halved, but not below the usual window, when no more than an
 * eighth of it was used for WATCH_MS. Credit is never withdrawn: the Receives in
 * excess of a smaller window are freed one by one, when the peer has used them. At a
 * server of version 1 the window grows after the peer has used it twice over, and
 * never shrinks, because what was granted may be used at any time. A client of version
 * 1 has all Receives from the beginning.
 *
 * Free Receives are withheld until conn->batch of them can be posted with one call. In
 * version 2 none are withheld until this end has sent its properties, or while fewer
 * than conn->least_posted are posted. A credit grant that the peer needs is therefore
 * never delayed (grant_owed()). Windows are changed when Receives are posted, and if
 * few are posted also when a message is received. No timer runs: the caller passes the
 * time.
 *
 * Memory
 *
 * Only numbers are here; core/endpoint/receives.cc has the Receives. conn->receives
 * counts those that exist, conn->recvs_wanted those that should exist,
 * conn->recvs_withheld those that are free, and conn->recvs_allocating those that one
 * context is allocating.
 *
 * Errors
 *
 * alloc_policy() decides what a lack of memory means. Until the first Receives are
 * posted, all together, the inline thresholds are reduced, to FEWER_OCTETS and then to the
 * default, and smaller Receives are allocated. If there is no memory for the smallest ones,
 * or for those of a client's Calls of version 1, the connection is closed. Otherwise the
 * window is as large as the Receives permit, and no others are allocated until it would
 * grow again.
 *
 * Locking
 *
 * The caller holds the lock of the connection. Once a connection is open,
 * rpcrdma_conn_send_octets() reads only what is fixed, and needs no lock.
 */
#include "credits.hh"
#include "receive_pool.hh"
#include "version1.hh"

namespace rpcrdma
{

namespace
{

/* Free Receives that are posted together. Also RPCRDMA_V1_SPARE_RECEIVES. */
constexpr u32 BATCH = 8;
static_assert(BATCH == v1::FEW_RECEIVES);

/*
 * After that many messages a connection is in use. Before, nothing is allocated
 * in advance: hundreds of clients may connect at once, and many stay idle.
 */
constexpr u32 IN_USE = 8;

/*
 * Four pages of 4 KiB, for which contiguous memory is available more often than for five,
 * which need a block of eight
 */
constexpr u32 FEWER_OCTETS = 16384;

/* A window shrinks if it has been underused for that long. */
constexpr u32 WATCH_MS = 10000;

/*
 * Return true if free Receives may be withheld. With version 2, none are withheld until
 * this end's CONNPROP has advertised all of them. With version 1 a server always may,
 * because it has spare ones; a client may if enough are posted for its next Calls.
 */
bool may_withhold(const struct rpcrdma_conn *conn)
{
	if (conn->state == RPCRDMA_CONN_OPEN &&
	    conn->version == RPCRDMA_VERS_2 && conn->props_sent == 1)
		return enough_posted(conn);
	return conn->state == RPCRDMA_CONN_OPEN &&
	       conn->version == RPCRDMA_VERS_1 && !v1::few_left(conn);
}

bool post_due(const struct rpcrdma_conn *conn)
{
	if (!conn->recvs_withheld)
		return false;
	return conn->recvs_withheld >= conn->batch || !may_withhold(conn);
}

bool adapts(const struct rpcrdma_conn *conn)
{
	return conn->cfg.first_window < conn->cfg.window &&
	       conn->version == RPCRDMA_VERS_2 &&
	       conn->state == RPCRDMA_CONN_OPEN && conn->props_sent;
}

/*
 * Return true for the server's end of a version 1 connection. Its window grows,
 * too. It does not shrink: what was granted may be used at any time.
 */
bool serves_v1(const struct rpcrdma_conn *conn)
{
	return conn->version == RPCRDMA_VERS_1 && !conn->cfg.client;
}

/*
 * Return the Receives in addition to those of the window: the reserve, and
 * spare ones.
 */
u32 extra_receives(const struct rpcrdma_conn *conn)
{
	return rpcrdma_window_receives(
		serves_v1(conn) ? +RPCRDMA_V1_SPARE_RECEIVES : 0);
}

/* Return the window of a connection in use, if the configuration permits it. */
u32 usual_window(const struct rpcrdma_conn *conn)
{
	return min_u32(conn->cfg.window,
		       max_u32(conn->cfg.first_window, RPCRDMA_USUAL_WINDOW));
}

u32 left_to_peer(const struct rpcrdma_conn *conn)
{
	const s32 left = peer_left(conn);

	return left > 0 ? static_cast<u32>(left) : 0;
}

/*
 * Return true if a received message shows that the peer knows its present window. From
 * then on, window_known_at follows the count of received messages: a value that is 2^31
 * messages old would compare as later. Called whenever Receives are posted, which is more
 * often than that.
 */
bool window_is_heard(struct rpcrdma_conn *conn)
{
	if (distance(conn->window_known_at, conn->received) < 0)
		return false;
	conn->window_known_at = conn->received;
	return true;
}

/*
 * Return true if a larger window would help the peer. The peer learns of it
 * from the next message that is sent; waiting until half of the window remained
 * would cost a separate credit grant. Messages that the peer may send before it
 * knows the present window do not show that it is too small.
 */
bool window_too_small(struct rpcrdma_conn *conn)
{
	if (!window_is_heard(conn) || conn->window >= conn->cfg.window)
		return false;
	return left_to_peer(conn) <= max_u32(CALL_RESERVE, conn->window / 2) ||
	       (u32{ conn->received } >= IN_USE &&
		conn->window < usual_window(conn));
}

void grow_window(struct rpcrdma_conn *conn)
{
	/* A window that has shrunk may still have more Receives than it needs. */
	const u32 there =
		max_u32(rpcrdma_window_receives(conn->window), conn->receives) -
		1;

	set_window(conn, min_u32(max_u32(2 * there, usual_window(conn)),
				 conn->cfg.window));
	conn->window_known_at = conn->received + left_to_peer(conn);
}

/*
 * Return true if the window of a version 1 connection has been used long enough
 * to count as in use. If there was no memory for more Receives, that is not
 * retried with each Call.
 */
bool window_in_use_v1(struct rpcrdma_conn *conn)
{
	return window_is_heard(conn) && conn->window < conn->cfg.window &&
	       conn->receives >= conn->recvs_wanted;
}

/* Return the unused credit of the peer; withheld Receives are unused, too. */
u32 unused_credits(const struct rpcrdma_conn *conn)
{
	return left_to_peer(conn) + conn->recvs_withheld;
}

/* Shrink the window if it has been larger than needed for long enough. */
void watch_time(struct rpcrdma_conn *conn, u32 now)
{
	conn->min_unused = min_u32(conn->min_unused, unused_credits(conn));
	if (now - conn->watched_since < WATCH_MS)
		return;
	if (conn->window > usual_window(conn) &&
	    conn->min_unused >= conn->window - conn->window / 8)
		set_window(conn, max_u32(conn->window / 2, usual_window(conn)));
	conn->min_unused = unused_credits(conn);
	conn->watched_since = now;
}

u32 receive_octets(const struct rpcrdma_conn *conn)
{
	const u32 octets = conn->version == RPCRDMA_VERS_1 ?
				   v1::receive_size(conn) :
				   conn->cfg.props.rbsiz;

	return max_u32(octets, RPCRDMA_V2_DEFAULT_INLINE);
}

/*
 * Return true if no Receive has been posted: this end has announced nothing yet, and may
 * announce less.
 */
bool none_posted(const struct rpcrdma_conn *conn)
{
	return conn->state == RPCRDMA_CONN_OPENING && !conn->posted;
}

bool may_be_smaller(const struct rpcrdma_conn *conn)
{
	const struct rpcrdma_props *own = &conn->cfg.props;

	return none_posted(conn) && (own->rbsiz > RPCRDMA_V2_DEFAULT_INLINE ||
				     own->sbsiz > RPCRDMA_V2_DEFAULT_INLINE);
}

/* Return the size to try after @octets, which is more than the default threshold. */
u32 fewer_octets(u32 octets)
{
	return octets > FEWER_OCTETS ? FEWER_OCTETS :
				       +RPCRDMA_V2_DEFAULT_INLINE;
}

/*
 * Reduce the inline thresholds. More than a page of contiguous memory may not
 * be available, and the default threshold is better than no connection.
 */
void reduce_thresholds(struct rpcrdma_props *own)
{
	const u32 most = fewer_octets(max_u32(own->rbsiz, own->sbsiz));

	own->rbsiz = min_u32(own->rbsiz, most);
	own->sbsiz = min_u32(own->sbsiz, most);
}

/*
 * Return true if the connection needs the Receives: the first ones, and those
 * for a client's Calls of version 1.
 */
bool needs_receives(const struct rpcrdma_conn *conn)
{
	return conn->receives <= conn->cfg.first_window ||
	       (conn->version == RPCRDMA_VERS_1 && conn->cfg.client);
}

enum rpcrdma_receives_need alloc_policy(const struct rpcrdma_conn *conn)
{
	if (may_be_smaller(conn))
		return RPCRDMA_RECEIVES_OR_SMALLER;
	return needs_receives(conn) ? RPCRDMA_RECEIVES_NEEDED :
				      RPCRDMA_RECEIVES_WANTED;
}

/* Return the Receives to allocate, if none are being allocated. */
u32 receives_short(const struct rpcrdma_conn *conn)
{
	return !conn->recvs_allocating && conn->recvs_wanted > conn->receives ?
		       conn->recvs_wanted - conn->receives :
		       0;
}

/*
 * Return true if other Receives are to be allocated before the first ones are posted: until
 * then, they may be smaller.
 */
bool first_are_short(const struct rpcrdma_conn *conn)
{
	return none_posted(conn) && receives_short(conn);
}

/* Count a free Receive, posted or not, for the rule for credit grants. */
void count_free(struct rpcrdma_conn *conn)
{
	if (conn->recvs_to_free)
		conn->recvs_to_free--;
	if (conn->grant_recvs_to_free) [[unlikely]]
		conn->grant_recvs_to_free--;
	else
		conn->recvs_freed = 1;
}

/*
 * Return the largest window for which there are Receives, at least the first
 * one.
 */
u32 possible_window(const struct rpcrdma_conn *conn)
{
	const u32 others = min_u32(conn->receives, extra_receives(conn));

	return max_u32(conn->receives - others, conn->cfg.first_window);
}

/*
 * Return the events for a free Receive that is not posted: at most a credit
 * grant is due.
 */
u32 grant_events(struct rpcrdma_conn *conn)
{
	return conn->version == RPCRDMA_VERS_2 && grant_owed(conn) ?
		       due_events(conn) :
		       0;
}

/* The window needs one Receive fewer. Separate, so that the usual case needs no stack frame. */
[[gnu::noinline]] u32 free_receive(struct rpcrdma_conn *conn)
{
	conn->receives--;
	return RPCRDMA_EV_FREE_RECEIVE | grant_events(conn);
}

} // namespace

/* The first Receives are allocated without an event. */
bool more_receives_due(const struct rpcrdma_conn *conn)
{
	return conn->receives && receives_short(conn);
}

void set_window(struct rpcrdma_conn *conn, u32 window)
{
	conn->window = window;
	conn->batch = min_u32(BATCH, window / 4);
	conn->least_posted = max_u32(RPCRDMA_MIN_WINDOW, window / 4);
	conn->recvs_wanted = window + extra_receives(conn);
}

/*
 * Set a window that grows when it was used twice over: the number of Calls in
 * flight is not known.
 */
static void set_window_v1(struct rpcrdma_conn *conn, u32 window)
{
	set_window(conn, min_u32(window, conn->cfg.window));
	conn->window_known_at = conn->received + 2 * conn->window;
}

/*
 * Open a server's window with the usual size, and add Receives for the Replies to
 * its own Calls. A client's window, and a small one, has its final size at once.
 */
void open_window_v1(struct rpcrdma_conn *conn)
{
	const bool all = conn->cfg.client ||
			 conn->cfg.first_window >= conn->cfg.window;

	set_window_v1(conn, all ? conn->cfg.window :
				  usual_window(conn) + conn->cfg.reverse);
}

/*
 * Grow the window here, too: if Calls hold most of it, none of their Receives may be
 * released for a long time.
 */
u32 few_posted(struct rpcrdma_conn *conn)
{
	if (adapts(conn) && window_too_small(conn))
		grow_window(conn);
	return post_due(conn) || more_receives_due(conn) ? RPCRDMA_EV_RECEIVES :
							   0;
}

} // namespace rpcrdma

using namespace rpcrdma;

struct rpcrdma_receives rpcrdma_recvs_to_alloc(struct rpcrdma_conn *conn)
{
	const u32 count = receives_short(conn);

	conn->recvs_allocating += count;
	return { .count = count,
		 .octets = receive_octets(conn),
		 .need = alloc_policy(conn) };
}

/* CONNPROP may use the default threshold whatever was announced. */
u32 rpcrdma_conn_send_octets(const struct rpcrdma_conn *conn)
{
	const bool all = conn->state == RPCRDMA_CONN_OPENING ||
			 v1::receives_unknown(conn);
	const u32 octets = all ? conn->cfg.props.sbsiz :
				 rpcrdma_conn_limits(conn).send_inline;

	return max_u32(octets, RPCRDMA_V2_DEFAULT_INLINE);
}

bool rpcrdma_conn_send_less(struct rpcrdma_conn *conn)
{
	struct rpcrdma_props *own = &conn->cfg.props;

	if (own->sbsiz <= RPCRDMA_V2_DEFAULT_INLINE)
		return false;
	own->sbsiz = fewer_octets(own->sbsiz);
	return true;
}

u32 rpcrdma_recvs_allocated(struct rpcrdma_conn *conn, u32 count)
{
	const bool all = count >= conn->recvs_allocating;
	const bool v1 = conn->version == RPCRDMA_VERS_1;
	const bool stuck = v1 && !v1::may_call(conn);
	u32 events = 0;

	conn->recvs_allocating = 0;
	conn->receives += count;
	conn->recvs_withheld += count;
	if (count)
		conn->recvs_freed = 1;
	if (v1)
		v1::set_grant(conn);
	if (stuck && v1::may_call(conn))
		events = RPCRDMA_EV_WINDOW;
	if (all)
		return due_events(conn) | events;
	switch (alloc_policy(conn)) {
	case RPCRDMA_RECEIVES_OR_SMALLER:
		reduce_thresholds(&conn->cfg.props);
		events |= RPCRDMA_EV_RECEIVES;
		break;
	case RPCRDMA_RECEIVES_NEEDED:
		close_connection(conn, "no memory for Receives");
		break;
	case RPCRDMA_RECEIVES_WANTED:
		set_window(conn, possible_window(conn));
		/* Do not allocate more for now. */
		conn->recvs_wanted = conn->receives;
		conn->window_known_at = conn->received + conn->window;
		break;
	}
	return due_events(conn) | events;
}

/*
 * The use of the window is checked once for several messages, which is as accurate as
 * checking it with each one.
 */
u32 rpcrdma_recvs_to_post(struct rpcrdma_conn *conn, u32 now)
{
	if (!post_due(conn) || first_are_short(conn))
		return 0;
	if (adapts(conn)) {
		watch_time(conn, now);
		if (window_too_small(conn))
			grow_window(conn);
	} else if (serves_v1(conn) && window_in_use_v1(conn)) {
		set_window_v1(conn, 2 * conn->window);
	}
	return conn->recvs_withheld;
}

/*
 * More Receives raise the limit that can be advertised; the peer is owed a
 * credit grant if it needs one (WP 3).
 */
u32 rpcrdma_recvs_posted(struct rpcrdma_conn *conn, u32 count)
{
	const bool v1 = conn->version == RPCRDMA_VERS_1;
	/* Calls, or in version 2 all messages, waited for a Receive of this end. */
	const bool stuck = v1 ? !v1::may_call(conn) : available(conn) < 0;
	const bool opening = !v1 && conn->state == RPCRDMA_CONN_OPEN &&
			     !conn->props_sent;
	const u32 kept = min_u32(count, conn->recvs_withheld);
	u32 events;

	conn->recvs_withheld -= kept;
	conn->posted += count;
	for (u32 i = kept; i < count; i++)
		count_free(conn);
	events = due_events(conn);
	if (conn->state == RPCRDMA_CONN_OPEN &&
	    (opening || (stuck && (!v1 || v1::may_call(conn)))))
		events |= RPCRDMA_EV_WINDOW;
	return events;
}

u32 rpcrdma_recvs_released(struct rpcrdma_conn *conn)
{
	count_free(conn);
	/* Without this Receive, enough are posted for a smaller window. */
	if (conn->receives > conn->recvs_wanted && !conn->recvs_allocating &&
	    available(conn) >= static_cast<s32>(conn->window)) [[unlikely]]
		return free_receive(conn);
	conn->recvs_withheld++;
	/* Fast path: enough others are posted, and all are advertised. */
	if (is_settled(conn) && conn->recvs_withheld < conn->batch &&
	    enough_posted(conn) && !limit_can_rise(conn)) [[likely]]
		return 0;
	if (post_due(conn))
		return RPCRDMA_EV_RECEIVES;
	return grant_events(conn);
}
