// SPDX-License-Identifier: GPL-2.0
/*
 * Host authentication. The core makes the decisions (core/conn/hostauth.cc). This file
 * has the parts that need the kernel: the secrets, which are keys in root's user
 * keyring, and HMACs; hostauth_dh.c has Diffie-Hellman. Keys of the initial network
 * namespace have the types "logon" and "user". Those of any other namespace have a
 * type that this module registers.
 *
 * Operation
 *
 * The setup of a connection looks up the identity that the peer's address must prove.
 * Unless authentication is off, a client also looks up its own secret, and allocates a
 * handshake if it has one. A server allocates the handshake when a client asks for it.
 * During the handshake the core requests one action at a time: a work item reads the
 * request under ep->lock, looks up the key and computes without the lock, and reports
 * the answer under it. Keys are looked up without calling user space. A write to the
 * parameter end_identity closes the connections of an identity, for use after its
 * secret was revoked or replaced.
 *
 * Memory
 *
 * The handshake and the expected identity are freed with the endpoint. A secret is not
 * copied, except to the transform of its HMAC, where it is overwritten after use.
 * Proofs and shared secrets are zeroed when they are no longer needed. The work item
 * has a reference to the endpoint, and holds off the teardown.
 *
 * Errors
 *
 * A missing or invalid secret is an answer: whether it ends the connection depends on
 * the mode. -ENOMEM is no statement about a secret: the setup or the handshake fails,
 * so that no connection is made without authentication for lack of memory. If the key
 * that names the identity of an address is not valid, no connection with that address
 * is set up.
 *
 * Locking
 *
 * ep->lock protects the handshake. A key's semaphore is held for reading while its
 * secret is used, so that it cannot be replaced meanwhile.
 */

#include <keys/user-type.h>
#include <linux/key-type.h>
#include <linux/key.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include "hostauth.h"
#include "trace_auth.h"

#define RPCRDMA_AUTH_PREFIX	"rpcrdma:"
#define RPCRDMA_AUTH_PEER	"rpcrdma-peer:"
#define RPCRDMA_AUTH_OWN	"rpcrdma-own:"
#define RPCRDMA_AUTH_SELF	"rpcrdma-identity"

static char rpcrdma_host_identity[RPCRDMA_AUTH_MAX_IDENTITY + 2];
module_param_string(host_identity, rpcrdma_host_identity,
		    sizeof(rpcrdma_host_identity), 0644);
MODULE_PARM_DESC(host_identity,
		 "identity of this host in host authentication, by default its name");

/*
 * End the connections of an identity after its secret was revoked or replaced. Only
 * those in the caller's network namespace are ended, because the secret belongs to
 * that namespace. If authentication is required, connections without a valid secret
 * do not open again.
 */
static int rpcrdma_auth_end(const char *value, const struct kernel_param *kp)
{
	char identity[RPCRDMA_AUTH_MAX_IDENTITY + 2];
	struct rpcrdma_ep *ep = NULL;

	if (strscpy(identity, value, sizeof(identity)) < 0)
		return -EINVAL;
	strreplace(identity, '\n', '\0');
	if (!rpcrdma_auth_identity_ok(identity))
		return -EINVAL;
	while ((ep = rpcrdma_ep_next(ep))) {
		if (net_eq(ep->net, current->nsproxy->net_ns) &&
		    rpcrdma_locked(&ep->lock,
				   rpcrdma_auth_involves(&ep->core.conn, identity)))
			rpcrdma_ep_close(ep, "an administrator ended the connections of an identity");
	}
	return 0;
}

static const struct kernel_param_ops rpcrdma_auth_end_ops = {
	.set	= rpcrdma_auth_end,
};
module_param_cb(end_identity, &rpcrdma_auth_end_ops, NULL, 0200);
MODULE_PARM_DESC(end_identity,
		 "write an identity to end the connections of this network namespace that it has proven");

/* Copy the identity of this host, which is that of its initial network namespace. */
static void rpcrdma_auth_host(char own[RPCRDMA_AUTH_MAX_IDENTITY + 2])
{
	kernel_param_lock(THIS_MODULE);
	strscpy(own, rpcrdma_host_identity, RPCRDMA_AUTH_MAX_IDENTITY + 2);
	kernel_param_unlock(THIS_MODULE);
	/* A value written to sysfs usually ends with a newline. */
	strreplace(own, '\n', '\0');
	if (!*own)
		strscpy(own, init_utsname()->nodename,
			RPCRDMA_AUTH_MAX_IDENTITY + 2);
}

/* Warn of an invalid identity. Without a secret, or the need for one, it is not used. */
static void rpcrdma_auth_no_identity(void)
{
	pr_warn_ratelimited("rpcrdma: this host's identity is not valid, see host_identity\n");
}

/* ---- Secrets and HMACs ---- */

#if IS_ENABLED(CONFIG_KEYS) && IS_REACHABLE(CONFIG_CRYPTO_HASH)

/*
 * The keys of network namespaces other than the initial one. Unlike a "logon" key, such a key
 * belongs to the namespace in which it was added, is found for no other, and ends with it.
 */
static struct key_type rpcrdma_key_type = {
	.name		= "rpcrdma",
	.flags		= KEY_TYPE_NET_DOMAIN,
	.preparse	= user_preparse,
	.free_preparse	= user_free_preparse,
	.instantiate	= generic_key_instantiate,
	.update		= user_update,
	.revoke		= user_revoke,
	.destroy	= user_destroy,
	.describe	= user_describe,
};

int rpcrdma_auth_init_keys(void)
{
	return register_key_type(&rpcrdma_key_type);
}

void rpcrdma_auth_exit_keys(void)
{
	unregister_key_type(&rpcrdma_key_type);
}

/*
 * Find a key for the network namespace @net: of @type, if that is the initial one. Work
 * items have the kernel's credentials, which are root's. Sleeps.
 */
static struct key *rpcrdma_auth_key(struct net *net, struct key_type *type,
				    const char *name)
{
	/* Memory reclaim may wait for this connection. */
	unsigned int nofs = memalloc_nofs_save();
	struct key *key;

	if (net_eq(net, &init_net))
		key = request_key(type, name, NULL);
	else
		key = request_key_net(&rpcrdma_key_type, name, net, NULL);
	memalloc_nofs_restore(nofs);
	return key;
}

/* Find the secret for @req->identity, and compute HMACs with it if asked to. Sleeps. */
static int rpcrdma_auth_secret(const struct rpcrdma_ep *ep,
			       const struct rpcrdma_auth_request *req,
			       const u8 *shared,
			       struct rpcrdma_auth_answer *answer)
{
	char name[sizeof(RPCRDMA_AUTH_PREFIX) + RPCRDMA_AUTH_MAX_IDENTITY];
	const struct user_key_payload *secret;
	struct key *key;
	int rc;

	snprintf(name, sizeof(name), RPCRDMA_AUTH_PREFIX "%s", req->identity);
	key = rpcrdma_auth_key(ep->net, &key_type_logon, name);
	if (IS_ERR(key))
		return PTR_ERR(key);
	down_read(&key->sem);
	rc = key_validate(key);
	secret = user_key_payload_locked(key);
	if (!rc && !secret)
		rc = -EKEYREVOKED;
	if (!rc && secret->datalen < RPCRDMA_AUTH_MIN_SECRET) {
		pr_warn_ratelimited("rpcrdma: the secret %s has less than %u bytes and is not used\n",
				    name, RPCRDMA_AUTH_MIN_SECRET);
		rc = -EINVAL;
	}
	if (!rc && req->what == RPCRDMA_AUTH_ASK_PROOFS)
		rc = rpcrdma_algs_proofs(req, secret->data, secret->datalen,
					 shared, answer);
	up_read(&key->sem);
	key_put(key);
	return rc;
}

/*
 * Copy the identity in a key of the type "user". Sleeps.
 * Return: 0; -ENOKEY, and no identity, if there is no such key; or another negative errno.
 */
static int rpcrdma_auth_named(struct net *net, const char *name,
			      char identity[RPCRDMA_AUTH_MAX_IDENTITY + 1])
{
	struct key *key = rpcrdma_auth_key(net, &key_type_user, name);
	const struct user_key_payload *payload;
	int rc;

	*identity = '\0';
	if (IS_ERR(key))
		return PTR_ERR(key);
	down_read(&key->sem);
	rc = key_validate(key);
	payload = user_key_payload_locked(key);
	if (!rc && (!payload || payload->datalen > RPCRDMA_AUTH_MAX_IDENTITY))
		rc = -EINVAL;
	if (!rc) {
		memcpy(identity, payload->data, payload->datalen);
		identity[payload->datalen] = '\0';
		strreplace(identity, '\n', '\0');
	}
	up_read(&key->sem);
	key_put(key);
	return rc;
}

#else

int rpcrdma_auth_init_keys(void)
{
	return 0;
}

void rpcrdma_auth_exit_keys(void)
{
}

static int rpcrdma_auth_named(struct net *net, const char *name,
			      char identity[RPCRDMA_AUTH_MAX_IDENTITY + 1])
{
	*identity = '\0';
	return -ENOKEY;
}

static int rpcrdma_auth_secret(const struct rpcrdma_ep *ep,
			       const struct rpcrdma_auth_request *req,
			       const u8 *shared,
			       struct rpcrdma_auth_answer *answer)
{
	return -EOPNOTSUPP;
}

#endif

/* ---- Identities ---- */

/*
 * Find the identity that the peer's address must prove, in a key of the type "user". If
 * that key cannot be used, no peer with that address is accepted. Sleeps.
 * Return: 0, and an identity or ""; or a negative errno.
 */
static int rpcrdma_auth_expected(struct net *net,
				 const struct sockaddr_storage *remote,
				 char identity[RPCRDMA_AUTH_MAX_IDENTITY + 1])
{
	char name[sizeof(RPCRDMA_AUTH_PEER) + INET6_ADDRSTRLEN];
	int rc;

	snprintf(name, sizeof(name), RPCRDMA_AUTH_PEER "%pISc", remote);
	rc = rpcrdma_auth_named(net, name, identity);
	if (rc == -ENOKEY)
		return 0;
	if (rc == -ENOMEM)
		return rc;
	if (rc || !rpcrdma_auth_identity_ok(identity)) {
		pr_warn_ratelimited("rpcrdma: the key %s has no valid identity\n",
				    name);
		return -EACCES;
	}
	return 0;
}

/*
 * Copy the identity of this end: a client's for this server, the network namespace's, or the
 * host's. If it is not valid, the copy is empty. Sleeps.
 * Return: 0 or -ENOMEM.
 */
static int rpcrdma_auth_own(const struct rpcrdma_ep *ep,
			    char own[RPCRDMA_AUTH_MAX_IDENTITY + 2])
{
	char name[sizeof(RPCRDMA_AUTH_OWN) + INET6_ADDRSTRLEN];
	int rc = -ENOKEY;

	if (ep->client) {
		snprintf(name, sizeof(name), RPCRDMA_AUTH_OWN "%pISc", &ep->remote);
		rc = rpcrdma_auth_named(ep->net, name, own);
	}
	if (rc == -ENOKEY && !net_eq(ep->net, &init_net))
		rc = rpcrdma_auth_named(ep->net, RPCRDMA_AUTH_SELF, own);
	if (rc == -ENOMEM)
		return rc;
	if (rc == -ENOKEY) {
		rpcrdma_auth_host(own);
		rc = 0;
	}
	if (rc || !rpcrdma_auth_identity_ok(own))
		*own = '\0';
	return 0;
}

/* ---- The handshake of a connection ---- */

/* Compute the proofs after the shared secret of a Diffie-Hellman exchange. */
static int rpcrdma_auth_exchange(struct rpcrdma_ep *ep,
				 const struct rpcrdma_auth_request *req,
				 struct rpcrdma_auth_answer *answer)
{
	u8 *shared = kmalloc(req->dh.octets, GFP_NOFS);
	int rc = -ENOMEM;

	if (shared)
		rc = rpcrdma_dh_shared(ep, &req->dh, shared);
	if (!rc)
		rc = rpcrdma_auth_secret(ep, req, shared, answer);
	kfree_sensitive(shared);
	return rc;
}

static int rpcrdma_auth_compute(struct rpcrdma_ep *ep,
				const struct rpcrdma_auth_request *req,
				struct rpcrdma_auth_answer *answer)
{
	if (!req->dh.group && req->what == RPCRDMA_AUTH_ASK_PROOFS)
		rpcrdma_dh_free(ep);
	if (!req->dh.group || req->what == RPCRDMA_AUTH_ASK_SECRET)
		return rpcrdma_auth_secret(ep, req, NULL, answer);
	rpcrdma_ep_count(ep, RPCRDMA_COUNT_AUTHS_DH);
	if (req->what == RPCRDMA_AUTH_ASK_KEYS)
		return rpcrdma_dh_keys(ep, &req->dh, answer->public_value);
	return rpcrdma_auth_exchange(ep, req, answer);
}

void rpcrdma_auth_answer(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep, auth_work);
	/* Memory reclaim may wait for an RPC that waits for the connection. */
	unsigned int flags = rpcrdma_ep_memalloc_begin(ep);
	struct rpcrdma_auth_answer answer = { };
	struct rpcrdma_auth_request req;
	u32 events;

	spin_lock(&ep->lock);
	rpcrdma_auth_next(&ep->core.conn, &req);
	spin_unlock(&ep->lock);
	if (req.what != RPCRDMA_AUTH_ASK_NOTHING) {
		answer.status = rpcrdma_auth_compute(ep, &req, &answer);
		if (!*req.server && (!answer.status ||
				     ep->params.auth == RPCRDMA_AUTH_REQUIRE))
			rpcrdma_auth_no_identity();
		trace_rpcrdma_auth_answer(ep, &req, answer.status);
		events = rpcrdma_locked(&ep->lock,
					rpcrdma_auth_answered(&ep->core.conn,
							      &answer));
		memzero_explicit(&answer, sizeof(answer));
		rpcrdma_core_events(&ep->core, events);
	}
	rpcrdma_memalloc_end(flags);
	rpcrdma_ep_leave(ep);
	rpcrdma_ep_put(ep);
}

void rpcrdma_port_auth(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);

	/* The teardown waits for the work item. */
	if (!rpcrdma_ep_enter(ep))
		return;
	rpcrdma_ep_get(ep);
	queue_work(rpcrdma_auth_wq, &ep->auth_work);
}

/* Allocate a handshake of a host with the identity @own. Sleeps. */
static struct rpcrdma_hostauth *rpcrdma_auth_alloc(struct rpcrdma_ep *ep,
						   const char *own)
{
	struct rpcrdma_hostauth *auth = NULL;
	u8 nonce[RPCRDMA_AUTH_NONCE];
	int dh = 0;

	if (rpcrdma_algs_known())
		auth = kzalloc(sizeof(*auth), GFP_NOFS);
	if (!auth)
		return NULL;
	get_random_bytes(nonce, sizeof(nonce));
	if (ep->params.auth_dh != RPCRDMA_AUTH_NONE)
		dh = rpcrdma_dh_prepare(ep);
	if (dh < 0 ||
	    !rpcrdma_auth_init(auth, own, ep->auth_expected ?: "", nonce)) {
		kfree_sensitive(auth);
		return NULL;
	}
	rpcrdma_auth_set_hashes(auth, rpcrdma_algs_hashes());
	rpcrdma_auth_set_groups(auth, ep->params.auth_dh,
				dh ? RPCRDMA_AUTH_ALL_GROUPS : 0);
	return auth;
}

void rpcrdma_auth_listen(u32 mode)
{
	if (mode != RPCRDMA_AUTH_NONE)
		rpcrdma_algs_find();
}

bool rpcrdma_auth_is_expected(struct net *net,
			      const struct sockaddr_storage *remote)
{
	char identity[RPCRDMA_AUTH_MAX_IDENTITY + 1];

	return rpcrdma_auth_expected(net, remote, identity) || *identity;
}

/* Require authentication of a peer whose address must prove an identity. */
static int rpcrdma_auth_expect(struct rpcrdma_ep *ep)
{
	char identity[RPCRDMA_AUTH_MAX_IDENTITY + 1];
	int rc = rpcrdma_auth_expected(ep->net, &ep->remote, identity);

	if (rc || !*identity)
		return rc;
	ep->auth_expected = kstrdup(identity, GFP_NOFS);
	ep->params.auth = RPCRDMA_AUTH_REQUIRE;
	return ep->auth_expected ? 0 : -ENOMEM;
}

/*
 * Prepare the handshake of a client's connection, if it has a secret. Otherwise the core
 * refuses the connection if it must have one, and says why. Sleeps.
 * Return: 0 or a negative errno.
 */
int rpcrdma_auth_setup(struct rpcrdma_ep *ep)
{
	enum rpcrdma_auth_mode mode;
	char own[RPCRDMA_AUTH_MAX_IDENTITY + 2];
	const struct rpcrdma_auth_request req = {
		.what		= RPCRDMA_AUTH_ASK_SECRET,
		.identity	= own,
	};
	int rc = rpcrdma_auth_expect(ep);

	mode = ep->params.auth;
	if (rc || !ep->client || mode == RPCRDMA_AUTH_NONE)
		return rc;
	rc = rpcrdma_auth_own(ep, own);
	if (rc)
		return rc;
	if (!*own && mode == RPCRDMA_AUTH_REQUIRE)
		rpcrdma_auth_no_identity();
	if (!*own)
		return 0;
	rc = rpcrdma_auth_secret(ep, &req, NULL, NULL);
	/* No statement about the secret: do not connect without it. */
	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return 0;
	if (ep->first && !rpcrdma_algs_hashes())
		rpcrdma_algs_find();
	ep->core.control.auth = rpcrdma_auth_alloc(ep, own);
	return ep->core.control.auth ? 0 : -ENOMEM;
}

struct rpcrdma_hostauth *rpcrdma_port_handshake(struct rpcrdma_ep_core *core)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	char own[RPCRDMA_AUTH_MAX_IDENTITY + 2];

	return rpcrdma_auth_own(ep, own) ? NULL : rpcrdma_auth_alloc(ep, own);
}

void rpcrdma_auth_free(struct rpcrdma_ep *ep)
{
	rpcrdma_dh_free(ep);
	kfree_sensitive(ep->core.control.auth);
	kfree(ep->auth_expected);
}
