// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoint: host authentication. Both ends are in this kernel. A test sets the key that
 * each look-up of the secret in a handshake finds.
 */
#include <linux/key.h>

#include "endpoint.h"
#include "../../net/sunrpc/xprtrdma/verbs/hostauth.h"

enum { SECRET_OCTETS = 32 };

static const char auth_secret[SECRET_OCTETS + 1] = "a secret of 32 bytes for testing";
static const char auth_other[SECRET_OCTETS + 1] = "another one, of the same length.";

/* Return a key with the first @octets bytes of @secret, or fail the test. */
static struct key *auth_key(struct kunit *test, const char *secret, size_t octets)
{
	struct key *key = loop_key(secret, octets);

	KUNIT_ASSERT_FALSE(test, IS_ERR(key));
	return key;
}

static void auth_modes(struct loop_pair *pair, u8 client, u8 server)
{
	pair->client_params.auth = client;
	pair->server_params.auth = server;
}

static void auth_dh_modes(struct loop_pair *pair, u8 client, u8 server)
{
	pair->client_params.auth_dh = client;
	pair->server_params.auth_dh = server;
}

static u64 auth_count(enum rpcrdma_counter counter)
{
	return rpcrdma_counted(&init_net, counter);
}

static enum rpcrdma_auth_result auth_result(const struct loop_side *side)
{
	return rpcrdma_conn_auth_result(&side->ep->core.conn);
}

static const char *auth_group(const struct loop_side *side)
{
	return rpcrdma_auth_group_name(&side->ep->core.conn);
}

/* Both ends have the same secret. */
static void auth_proven(struct kunit *test)
{
	u64 started = auth_count(RPCRDMA_COUNT_AUTHS_STARTED);
	u64 done = auth_count(RPCRDMA_COUNT_AUTHS_DONE);
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;
	const struct rpcrdma_conn *conn;

	loop_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_OFFER);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->server), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_EQ(test, loop_lookups, LOOP_LOOKUPS);
	conn = &pair->server.ep->core.conn;
	KUNIT_EXPECT_STREQ(test, rpcrdma_auth_peer(conn), LOOP_IDENTITY);
	KUNIT_EXPECT_STREQ(test, rpcrdma_auth_hash_name(conn), "sha512");
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 5000, 5000, 0, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_STARTED), started + 2);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_DONE), done + 2);
	loop_disconnect(test, pair);
	loop_find(NULL);
	key_put(key);
}

/*
 * Connect. Look-up @at finds @bad, and the other look-ups find @key. If @mode is OFFER, a
 * client without a secret does not offer authentication, and a server without one continues
 * without it. If a later look-up finds no usable key, the handshake fails.
 */
static void auth_bad_at(struct kunit *test, unsigned int at, struct key *key,
			struct key *bad, u8 mode)
{
	struct loop_pair *pair = test->priv;
	bool open = at < 2 && mode == RPCRDMA_AUTH_OFFER;

	loop_find(key);
	loop_secrets[at] = bad;
	auth_modes(pair, mode, mode);
	if (open) {
		loop_open(test);
		KUNIT_EXPECT_NE(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
		KUNIT_EXPECT_NE(test, auth_result(&pair->server), RPCRDMA_AUTH_DONE);
	} else {
		KUNIT_EXPECT_EQ_MSG(test, loop_connect(pair), -EACCES, "%u", at);
	}
	loop_disconnect(test, pair);
	loop_find(NULL);
}

/* No key, and keys that are revoked, expired or too short, in each look-up */
static void auth_unusable(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct key *bad[] = {
		NULL,
		auth_key(test, auth_secret, SECRET_OCTETS),
		auth_key(test, auth_secret, SECRET_OCTETS),
		auth_key(test, auth_secret, RPCRDMA_AUTH_MIN_SECRET - 1),
	};
	unsigned int i, at;

	key_revoke(bad[1]);
	/* Set a time in the past. */
	WRITE_ONCE(bad[2]->expiry, 1);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (at = 0; at < LOOP_LOOKUPS; at++) {
			auth_bad_at(test, at, key, bad[i], RPCRDMA_AUTH_OFFER);
			auth_bad_at(test, at, key, bad[i], RPCRDMA_AUTH_REQUIRE);
		}
		key_put(bad[i]);
	}
	key_put(key);
}

/* The secrets of server and client differ. */
static void auth_wrong(struct kunit *test)
{
	u64 wrong = auth_count(RPCRDMA_COUNT_AUTHS_WRONG_PROOF);
	u64 refused = auth_count(RPCRDMA_COUNT_AUTHS_REFUSED);
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct key *other = auth_key(test, auth_other, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;

	loop_find(key);
	loop_secrets[1] = other;
	loop_secrets[3] = other;
	auth_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -EACCES);
	loop_disconnect(test, pair);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_WRONG_PROOF), wrong + 1);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_REFUSED), refused + 1);
	loop_find(NULL);
	key_put(other);
	key_put(key);
}

/* If the server requires authentication, it refuses other clients without using memory. */
static void auth_not_offered(struct kunit *test)
{
	u64 not_offered = auth_count(RPCRDMA_COUNT_AUTHS_NOT_OFFERED);
	u64 started = auth_count(RPCRDMA_COUNT_AUTHS_STARTED);
	struct loop_pair *pair = test->priv;

	loop_find(NULL);
	auth_modes(pair, RPCRDMA_AUTH_NONE, RPCRDMA_AUTH_REQUIRE);
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -EACCES);
	loop_disconnect(test, pair);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_NOT_OFFERED),
			not_offered + 1);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_STARTED), started);
}

/* An invalid identity prevents a connection only if authentication is required. */
static void auth_no_identity(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;

	loop_set_identity("not an identity");
	loop_find(key);
	auth_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, loop_lookups, 0U);
	KUNIT_EXPECT_PTR_EQ(test, pair->server.ep->core.control.auth, NULL);
	loop_disconnect(test, pair);

	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -EACCES);
	loop_disconnect(test, pair);
	loop_set_identity(LOOP_IDENTITY);
	loop_find(NULL);
	key_put(key);
}

/*
 * Fail the look-ups, the crypto API and all other operations, one per round. The failure
 * never leads to a connection without authentication, and the client can retry.
 */
static void auth_each_fault(struct kunit *test, u8 dh)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;
	u64 unavailable = auth_count(RPCRDMA_COUNT_AUTHS_UNAVAILABLE);
	unsigned int n, opened = 0;
	bool failed;
	int rc;

	pair->client_params.window = RPCRDMA_MIN_WINDOW;
	pair->client_params.sends = 2;
	pair->client_params.max_mrs = 2;
	pair->client_params.reads = 0;
	pair->server_params.window = RPCRDMA_MIN_WINDOW;
	pair->server_params.sends = 2;
	pair->server_params.reads = 8;
	auth_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	auth_dh_modes(pair, dh, dh);
	for (n = 1; n < 1000; n++) {
		loop_find(key);
		loop_fail_at(n);
		rc = loop_connect(pair);
		KUNIT_EXPECT_NE_MSG(test, rc, -EACCES, "%u", n);
		if (!rc) {
			opened++;
			KUNIT_EXPECT_EQ_MSG(test, auth_result(&pair->client),
					    RPCRDMA_AUTH_DONE, "%u", n);
			KUNIT_EXPECT_STREQ(test, auth_group(&pair->client),
					   dh ? "ffdhe3072" : "none");
		}
		failed = loop_failed();
		loop_fail_at(0);
		loop_disconnect(test, pair);
		if (!failed)
			break;
	}
	kunit_info(test, "%u places", n - 1);
	KUNIT_EXPECT_GT(test, n, 30U);
	KUNIT_EXPECT_LT(test, n, 1000U);
	KUNIT_EXPECT_GT(test, opened, 0U);
	/* Each look-up of the server and both calculations were counted. */
	KUNIT_EXPECT_GE(test, auth_count(RPCRDMA_COUNT_AUTHS_UNAVAILABLE),
			unavailable + 6);
	loop_find(NULL);
	key_put(key);
}

static void auth_after_any_fault(struct kunit *test)
{
	auth_each_fault(test, RPCRDMA_AUTH_NONE);
}

/* If memory is short, an end does not continue without Diffie-Hellman. */
static void auth_dh_after_any_fault(struct kunit *test)
{
	auth_each_fault(test, RPCRDMA_AUTH_OFFER);
}

/* Both ends have Diffie-Hellman. Each allocates it once and computes twice. */
static void auth_dh_proven(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	u64 calculations = auth_count(RPCRDMA_COUNT_AUTHS_DH);
	struct loop_pair *pair = test->priv;

	loop_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_OFFER);
	auth_dh_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_REQUIRE);
	atomic_set(&loop_dh_allocs, 0);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->client), "ffdhe3072");
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->server), "ffdhe3072");
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_DH), calculations + 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_dh_allocs), 2);
	/* No private value is left. */
	KUNIT_EXPECT_PTR_EQ(test, pair->client.ep->auth_private, NULL);
	KUNIT_EXPECT_PTR_EQ(test, pair->server.ep->auth_private, NULL);
	loop_disconnect(test, pair);
	loop_find(NULL);
	key_put(key);
}

/* If only one end has Diffie-Hellman, that end frees its state. */
static void auth_dh_not_chosen(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	u64 calculations = auth_count(RPCRDMA_COUNT_AUTHS_DH);
	struct loop_pair *pair = test->priv;

	loop_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	auth_dh_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_NONE);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->client), "none");
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_DH), calculations);
	KUNIT_EXPECT_PTR_EQ(test, pair->client.ep->auth_private, NULL);
	loop_disconnect(test, pair);
	loop_find(NULL);
	key_put(key);
}

/* The kernel has no Diffie-Hellman, and is not queried again until some time has passed. */
static void auth_dh_absent(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;

	loop_forget_algs();
	loop_find(key);
	loop_no_dh = true;
	pair->how = RPCRDMA_CONNECT_FIRST;
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	auth_dh_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->client), "none");
	loop_disconnect(test, pair);

	loop_no_dh = false;
	pair->how = 0;
	auth_dh_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_OFFER);
	KUNIT_EXPECT_EQ(test, loop_connect(pair), -EACCES);
	loop_disconnect(test, pair);

	loop_find_algs();
	loop_find(key);
	loop_open(test);
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->client), "ffdhe3072");
	loop_disconnect(test, pair);
	loop_find(NULL);
	key_put(key);
}

/* The kernel has no HMAC: connecting fails, but not with -EACCES. */
static void auth_no_algorithm(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	u64 unavailable = auth_count(RPCRDMA_COUNT_AUTHS_UNAVAILABLE);
	struct loop_pair *pair = test->priv;
	int rc;

	loop_forget_algs();
	loop_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	loop_no_hash = "hmac";
	pair->how = RPCRDMA_CONNECT_FIRST;
	rc = loop_connect(pair);
	KUNIT_EXPECT_LT(test, rc, 0);
	KUNIT_EXPECT_NE(test, rc, -EACCES);
	loop_disconnect(test, pair);
	KUNIT_EXPECT_GE(test, auth_count(RPCRDMA_COUNT_AUTHS_UNAVAILABLE),
			unavailable + 1);
	loop_find(NULL);
	key_put(key);
}

/* The kernel lacks one hash function: the handshake uses another one. */
static void auth_hash_absent(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;

	loop_forget_algs();
	loop_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	loop_no_hash = "sha512";
	pair->how = RPCRDMA_CONNECT_FIRST;
	loop_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	loop_disconnect(test, pair);
	loop_find_algs();
	loop_find(NULL);
	key_put(key);
}

/*
 * The memory reclaim of files may wait for a connection. Such a connection looks up no
 * algorithm, because this may load a module from such a file. It fails, and a work item looks
 * up the algorithm.
 */
static void auth_no_lookup(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;
	int rc;

	auth_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	auth_dh_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	loop_find(key);
	atomic_set(&loop_alg_lookups, 0);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_alg_lookups), 0);
	loop_disconnect(test, pair);

	loop_forget_algs();
	rc = loop_connect(pair);
	KUNIT_EXPECT_LT(test, rc, 0);
	KUNIT_EXPECT_NE(test, rc, -EACCES);
	KUNIT_EXPECT_TRUE(test, loop_poll(rpcrdma_algs_known()));
	loop_disconnect(test, pair);
	loop_find(key);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	loop_disconnect(test, pair);

	/* No file depends on the first connection of a mount, so it looks up algorithms. */
	loop_forget_algs();
	loop_find(key);
	pair->how = RPCRDMA_CONNECT_FIRST;
	loop_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_EQ(test, atomic_read(&loop_alg_lookups), 4);
	loop_disconnect(test, pair);
	loop_find(NULL);
	key_put(key);
}

static struct loop_pair *auth_pair;
static unsigned int auth_close_at;

/* Close the server's end during the look-up @auth_close_at. */
static void auth_close(unsigned int n)
{
	struct rpcrdma_ep *ep = NULL;

	if (n != auth_close_at)
		return;
	mutex_lock(&auth_pair->lock);
	ep = auth_pair->server.ep;
	mutex_unlock(&auth_pair->lock);
	if (ep)
		rpcrdma_ep_close(ep, NULL);
}

/* The server's connection is closed during each look-up, and its teardown waits for that. */
static void auth_closed_meanwhile(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;

	auth_pair = pair;
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	for (auth_close_at = 1; auth_close_at < LOOP_LOOKUPS; auth_close_at++) {
		loop_find(key);
		loop_at_lookup = auth_close;
		KUNIT_EXPECT_LT(test, loop_connect(pair), 0);
		loop_at_lookup = NULL;
		loop_disconnect(test, pair);
	}
	loop_find(NULL);
	key_put(key);
}

/* A peer address must prove an identity, regardless of the settings of the roles. */
static void auth_address(struct kunit *test)
{
	static const struct {
		const char *identity;
		bool open, secret;
	} cases[] = {
		{ LOOP_IDENTITY, true, true },
		{ LOOP_IDENTITY "\n", true, true },
		{ LOOP_IDENTITY, false, false },
		{ "another.example.test", false, true },
		{ "not an identity", false, true },
	};
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		loop_find(NULL);
		if (cases[i].secret)
			loop_find(key);
		loop_peer_key = loop_identity_key(cases[i].identity);
		KUNIT_ASSERT_FALSE(test, IS_ERR(loop_peer_key));
		auth_modes(pair, RPCRDMA_AUTH_NONE, RPCRDMA_AUTH_NONE);
		if (cases[i].open) {
			loop_open(test);
			KUNIT_EXPECT_EQ(test, auth_result(&pair->client),
					RPCRDMA_AUTH_DONE);
			KUNIT_EXPECT_EQ(test, auth_result(&pair->server),
					RPCRDMA_AUTH_DONE);
		} else {
			KUNIT_EXPECT_EQ_MSG(test, loop_connect(pair), -EACCES, "%u", i);
		}
		loop_disconnect(test, pair);
		key_put(loop_peer_key);
		loop_peer_key = NULL;
	}
	loop_find(NULL);
	key_put(key);
}

/* An administrator ends the connections of one identity, and no others. */
static void auth_ended(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct loop_pair *pair = test->priv;

	loop_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, loop_end_identity("another.example.test\n"), 0);
	KUNIT_EXPECT_EQ(test, loop_end_identity(""), -EINVAL);
	KUNIT_EXPECT_EQ(test, loop_end_identity("not an identity"), -EINVAL);
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 5000, 5000, 0, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, loop_end_identity(LOOP_IDENTITY "\n"), 0);
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->server));
	KUNIT_EXPECT_TRUE(test, loop_wait_gone(&pair->client));
	loop_disconnect(test, pair);

	/* Without authentication there is no identity. */
	loop_find(NULL);
	auth_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	loop_open(test);
	KUNIT_EXPECT_EQ(test, loop_end_identity(LOOP_IDENTITY), 0);
	KUNIT_EXPECT_EQ(test, loop_one_rpc(&pair->client, 5000, 5000, 0, PAGE_SIZE), 0);
	loop_disconnect(test, pair);
	key_put(key);
}

static int auth_test_init(struct kunit *test)
{
	loop_set_identity(LOOP_IDENTITY);
	loop_find_algs();
	return loop_test_init(test);
}

static void auth_test_exit(struct kunit *test)
{
	loop_find(NULL);
	loop_find_algs();
	loop_at_lookup = NULL;
	loop_set_identity("");
	loop_test_exit(test);
}

static struct kunit_case auth_cases[] = {
	KUNIT_CASE(auth_proven),
	KUNIT_CASE(auth_unusable),
	KUNIT_CASE(auth_wrong),
	KUNIT_CASE(auth_not_offered),
	KUNIT_CASE(auth_no_identity),
	KUNIT_CASE(auth_after_any_fault),
	KUNIT_CASE(auth_dh_proven),
	KUNIT_CASE(auth_dh_not_chosen),
	KUNIT_CASE(auth_dh_absent),
	KUNIT_CASE(auth_dh_after_any_fault),
	KUNIT_CASE(auth_no_algorithm),
	KUNIT_CASE(auth_hash_absent),
	KUNIT_CASE(auth_no_lookup),
	KUNIT_CASE(auth_closed_meanwhile),
	KUNIT_CASE(auth_address),
	KUNIT_CASE(auth_ended),
	{}
};

static struct kunit_suite auth_suite = {
	.name		= "rpcrdma_ep_auth",
	.suite_init	= loop_mem_suite_init,
	.suite_exit	= loop_suite_exit,
	.init		= auth_test_init,
	.exit		= auth_test_exit,
	.test_cases	= auth_cases,
};

kunit_test_suite(auth_suite);
