// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoint: host authentication. Both ends are this kernel, and each look-up of the
 * secret in a handshake can find another key.
 */
#include <linux/key.h>

#include "endpoint.h"
#include "../../net/sunrpc/xprtrdma/verbs/internal.h"

enum { SECRET_OCTETS = 32 };

static const char auth_secret[SECRET_OCTETS + 1] = "a secret of 32 bytes for testing";
static const char auth_other[SECRET_OCTETS + 1] = "another one, of the same length.";

/* Return a key with the first @octets bytes of @secret, or fail the test. */
static struct key *auth_key(struct kunit *test, const char *secret, size_t octets)
{
	struct key *key = shim_key(secret, octets);

	KUNIT_ASSERT_FALSE(test, IS_ERR(key));
	return key;
}

static void auth_modes(struct shim_pair *pair, u8 client, u8 server)
{
	pair->client_params.auth = client;
	pair->server_params.auth = server;
}

static void auth_dh_modes(struct shim_pair *pair, u8 client, u8 server)
{
	pair->client_params.auth_dh = client;
	pair->server_params.auth_dh = server;
}

static u64 auth_count(enum rpcrdma_counter counter)
{
	return rpcrdma_counted(&init_net, counter);
}

static enum rpcrdma_auth_result auth_result(const struct shim_side *side)
{
	return rpcrdma_conn_auth_result(&side->ep->core.conn);
}

static const char *auth_group(const struct shim_side *side)
{
	return rpcrdma_auth_group_name(&side->ep->core.conn);
}

/* Both ends know the secret. */
static void auth_proven(struct kunit *test)
{
	u64 started = auth_count(RPCRDMA_COUNT_AUTHS_STARTED);
	u64 done = auth_count(RPCRDMA_COUNT_AUTHS_DONE);
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct shim_pair *pair = test->priv;
	const struct rpcrdma_conn *conn;

	shim_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_OFFER);
	shim_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->server), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_EQ(test, shim_lookups, SHIM_LOOKUPS);
	conn = &pair->server.ep->core.conn;
	KUNIT_EXPECT_STREQ(test, rpcrdma_auth_peer(conn), SHIM_IDENTITY);
	KUNIT_EXPECT_STREQ(test, rpcrdma_auth_hash_name(conn), "sha512");
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 5000, 5000, 0, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_STARTED), started + 2);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_DONE), done + 2);
	shim_disconnect(test, pair);
	shim_find(NULL);
	key_put(key);
}

/*
 * Connect with a look-up @at that finds @bad, and the others @key. A client without a
 * secret takes no part and a server without one continues without authentication, unless
 * that is required. Later, what has begun fails.
 */
static void auth_bad_at(struct kunit *test, unsigned int at, struct key *key,
			struct key *bad, u8 mode)
{
	struct shim_pair *pair = test->priv;
	bool open = at < 2 && mode == RPCRDMA_AUTH_OFFER;

	shim_find(key);
	shim_secrets[at] = bad;
	auth_modes(pair, mode, mode);
	if (open) {
		shim_open(test);
		KUNIT_EXPECT_NE(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
		KUNIT_EXPECT_NE(test, auth_result(&pair->server), RPCRDMA_AUTH_DONE);
	} else {
		KUNIT_EXPECT_EQ_MSG(test, shim_connect(pair), -EACCES, "%u", at);
	}
	shim_disconnect(test, pair);
	shim_find(NULL);
}

/* No key, and keys that are revoked, expired or too short, from each look-up on */
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
	/* In the past */
	WRITE_ONCE(bad[2]->expiry, 1);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (at = 0; at < SHIM_LOOKUPS; at++) {
			auth_bad_at(test, at, key, bad[i], RPCRDMA_AUTH_OFFER);
			auth_bad_at(test, at, key, bad[i], RPCRDMA_AUTH_REQUIRE);
		}
		key_put(bad[i]);
	}
	key_put(key);
}

/* The server has another secret than the client. */
static void auth_wrong(struct kunit *test)
{
	u64 wrong = auth_count(RPCRDMA_COUNT_AUTHS_WRONG_PROOF);
	u64 refused = auth_count(RPCRDMA_COUNT_AUTHS_REFUSED);
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct key *other = auth_key(test, auth_other, SECRET_OCTETS);
	struct shim_pair *pair = test->priv;

	shim_find(key);
	shim_secrets[1] = other;
	shim_secrets[3] = other;
	auth_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EACCES);
	shim_disconnect(test, pair);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_WRONG_PROOF), wrong + 1);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_REFUSED), refused + 1);
	shim_find(NULL);
	key_put(other);
	key_put(key);
}

/* A server that requires it refuses all others, and needs no memory for that. */
static void auth_not_offered(struct kunit *test)
{
	u64 not_offered = auth_count(RPCRDMA_COUNT_AUTHS_NOT_OFFERED);
	u64 started = auth_count(RPCRDMA_COUNT_AUTHS_STARTED);
	struct shim_pair *pair = test->priv;

	shim_find(NULL);
	auth_modes(pair, RPCRDMA_AUTH_NONE, RPCRDMA_AUTH_REQUIRE);
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EACCES);
	shim_disconnect(test, pair);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_NOT_OFFERED),
			not_offered + 1);
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_STARTED), started);
}

/* A name that is no identity is no matter unless one is required. */
static void auth_no_identity(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct shim_pair *pair = test->priv;

	shim_set_identity("not an identity");
	shim_find(key);
	auth_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	shim_open(test);
	KUNIT_EXPECT_EQ(test, shim_lookups, 0U);
	KUNIT_EXPECT_PTR_EQ(test, pair->server.ep->core.control.auth, NULL);
	shim_disconnect(test, pair);

	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EACCES);
	shim_disconnect(test, pair);
	shim_set_identity(SHIM_IDENTITY);
	shim_find(NULL);
	key_put(key);
}

/*
 * Fail the look-ups, the crypto API and everything else, one operation a round. No
 * connection opens without authentication because of that, and a client may retry.
 */
static void auth_each_fault(struct kunit *test, u8 dh)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct shim_pair *pair = test->priv;
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
		shim_find(key);
		shim_fail_at(n);
		rc = shim_connect(pair);
		KUNIT_EXPECT_NE_MSG(test, rc, -EACCES, "%u", n);
		if (!rc) {
			opened++;
			KUNIT_EXPECT_EQ_MSG(test, auth_result(&pair->client),
					    RPCRDMA_AUTH_DONE, "%u", n);
			KUNIT_EXPECT_STREQ(test, auth_group(&pair->client),
					   dh ? "ffdhe3072" : "none");
		}
		failed = shim_failed();
		shim_fail_at(0);
		shim_disconnect(test, pair);
		if (!failed)
			break;
	}
	kunit_info(test, "%u places", n - 1);
	KUNIT_EXPECT_GT(test, n, 30U);
	KUNIT_EXPECT_LT(test, n, 1000U);
	KUNIT_EXPECT_GT(test, opened, 0U);
	/* Each look-up of the server, and both calculations */
	KUNIT_EXPECT_GE(test, auth_count(RPCRDMA_COUNT_AUTHS_UNAVAILABLE),
			unavailable + 6);
	shim_find(NULL);
	key_put(key);
}

static void auth_after_any_fault(struct kunit *test)
{
	auth_each_fault(test, RPCRDMA_AUTH_NONE);
}

/* A lack of memory does not make an end continue without Diffie-Hellman. */
static void auth_dh_after_any_fault(struct kunit *test)
{
	auth_each_fault(test, RPCRDMA_AUTH_OFFER);
}

/* Both ends have Diffie-Hellman, allocate it once and compute twice each. */
static void auth_dh_proven(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	u64 calculations = auth_count(RPCRDMA_COUNT_AUTHS_DH);
	struct shim_pair *pair = test->priv;

	shim_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_OFFER);
	auth_dh_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_REQUIRE);
	atomic_set(&shim_dh_allocs, 0);
	shim_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->client), "ffdhe3072");
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->server), "ffdhe3072");
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_DH), calculations + 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&shim_dh_allocs), 2);
	/* No private value is left. */
	KUNIT_EXPECT_PTR_EQ(test, pair->client.ep->auth_private, NULL);
	KUNIT_EXPECT_PTR_EQ(test, pair->server.ep->auth_private, NULL);
	shim_disconnect(test, pair);
	shim_find(NULL);
	key_put(key);
}

/* The end that has it does not keep it if the other end does not. */
static void auth_dh_not_chosen(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	u64 calculations = auth_count(RPCRDMA_COUNT_AUTHS_DH);
	struct shim_pair *pair = test->priv;

	shim_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	auth_dh_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_NONE);
	shim_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->client), "none");
	KUNIT_EXPECT_EQ(test, auth_count(RPCRDMA_COUNT_AUTHS_DH), calculations);
	KUNIT_EXPECT_PTR_EQ(test, pair->client.ep->auth_private, NULL);
	shim_disconnect(test, pair);
	shim_find(NULL);
	key_put(key);
}

/* A kernel without it, which is asked again only after a time */
static void auth_dh_absent(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct shim_pair *pair = test->priv;

	shim_find(key);
	shim_no_dh = true;
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	auth_dh_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	shim_open(test);
	KUNIT_EXPECT_EQ(test, auth_result(&pair->client), RPCRDMA_AUTH_DONE);
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->client), "none");
	shim_disconnect(test, pair);

	shim_no_dh = false;
	auth_dh_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_OFFER);
	KUNIT_EXPECT_EQ(test, shim_connect(pair), -EACCES);
	shim_disconnect(test, pair);

	shim_find_dh();
	shim_find(key);
	shim_open(test);
	KUNIT_EXPECT_STREQ(test, auth_group(&pair->client), "ffdhe3072");
	shim_disconnect(test, pair);
	shim_find(NULL);
	key_put(key);
}

/* A kernel without the algorithm: the mount fails, but not for lack of permission. */
static void auth_no_algorithm(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	u64 unavailable = auth_count(RPCRDMA_COUNT_AUTHS_UNAVAILABLE);
	struct shim_pair *pair = test->priv;
	int rc;

	shim_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	shim_no_hash = true;
	rc = shim_connect(pair);
	shim_no_hash = false;
	KUNIT_EXPECT_LT(test, rc, 0);
	KUNIT_EXPECT_NE(test, rc, -EACCES);
	shim_disconnect(test, pair);
	KUNIT_EXPECT_GE(test, auth_count(RPCRDMA_COUNT_AUTHS_UNAVAILABLE),
			unavailable + 1);
	shim_find(NULL);
	key_put(key);
}

static struct shim_pair *auth_pair;
static unsigned int auth_close_at;

/* Close the end that looks up its secret. */
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

/* The server's connection closes during each look-up, and waits for its end. */
static void auth_closed_meanwhile(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct shim_pair *pair = test->priv;

	auth_pair = pair;
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	for (auth_close_at = 1; auth_close_at < SHIM_LOOKUPS; auth_close_at++) {
		shim_find(key);
		shim_at_lookup = auth_close;
		KUNIT_EXPECT_LT(test, shim_connect(pair), 0);
		shim_at_lookup = NULL;
		shim_disconnect(test, pair);
	}
	shim_find(NULL);
	key_put(key);
}

/* The peer's address must prove an identity, whatever the settings of the roles are. */
static void auth_address(struct kunit *test)
{
	static const struct {
		const char *identity;
		bool open, secret;
	} cases[] = {
		{ SHIM_IDENTITY, true, true },
		{ SHIM_IDENTITY "\n", true, true },
		{ SHIM_IDENTITY, false, false },
		{ "another.example.test", false, true },
		{ "not an identity", false, true },
	};
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct shim_pair *pair = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		shim_find(NULL);
		if (cases[i].secret)
			shim_find(key);
		shim_peer_key = shim_identity_key(cases[i].identity);
		KUNIT_ASSERT_FALSE(test, IS_ERR(shim_peer_key));
		auth_modes(pair, RPCRDMA_AUTH_NONE, RPCRDMA_AUTH_NONE);
		if (cases[i].open) {
			shim_open(test);
			KUNIT_EXPECT_EQ(test, auth_result(&pair->client),
					RPCRDMA_AUTH_DONE);
			KUNIT_EXPECT_EQ(test, auth_result(&pair->server),
					RPCRDMA_AUTH_DONE);
		} else {
			KUNIT_EXPECT_EQ_MSG(test, shim_connect(pair), -EACCES, "%u", i);
		}
		shim_disconnect(test, pair);
		key_put(shim_peer_key);
		shim_peer_key = NULL;
	}
	shim_find(NULL);
	key_put(key);
}

/* An administrator ends the connections of one identity, and no others. */
static void auth_ended(struct kunit *test)
{
	struct key *key = auth_key(test, auth_secret, SECRET_OCTETS);
	struct shim_pair *pair = test->priv;

	shim_find(key);
	auth_modes(pair, RPCRDMA_AUTH_REQUIRE, RPCRDMA_AUTH_REQUIRE);
	shim_open(test);
	KUNIT_EXPECT_EQ(test, shim_end_identity("another.example.test\n"), 0);
	KUNIT_EXPECT_EQ(test, shim_end_identity(""), -EINVAL);
	KUNIT_EXPECT_EQ(test, shim_end_identity("not an identity"), -EINVAL);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 5000, 5000, 0, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, shim_end_identity(SHIM_IDENTITY "\n"), 0);
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->server));
	KUNIT_EXPECT_TRUE(test, shim_wait_gone(&pair->client));
	shim_disconnect(test, pair);

	/* Without authentication there is no identity. */
	shim_find(NULL);
	auth_modes(pair, RPCRDMA_AUTH_OFFER, RPCRDMA_AUTH_OFFER);
	shim_open(test);
	KUNIT_EXPECT_EQ(test, shim_end_identity(SHIM_IDENTITY), 0);
	KUNIT_EXPECT_EQ(test, shim_one_rpc(&pair->client, 5000, 5000, 0, PAGE_SIZE), 0);
	shim_disconnect(test, pair);
	key_put(key);
}

static int auth_test_init(struct kunit *test)
{
	shim_set_identity(SHIM_IDENTITY);
	return shim_test_init(test);
}

static void auth_test_exit(struct kunit *test)
{
	shim_find(NULL);
	shim_no_hash = false;
	shim_find_dh();
	shim_at_lookup = NULL;
	shim_set_identity("");
	shim_test_exit(test);
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
	KUNIT_CASE(auth_closed_meanwhile),
	KUNIT_CASE(auth_address),
	KUNIT_CASE(auth_ended),
	{}
};

static struct kunit_suite auth_suite = {
	.name		= "rpcrdma_ep_auth",
	.suite_init	= shim_mem_suite_init,
	.suite_exit	= shim_suite_exit,
	.init		= auth_test_init,
	.exit		= auth_test_exit,
	.test_cases	= auth_cases,
};

kunit_test_suite(auth_suite);
