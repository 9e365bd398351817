// SPDX-License-Identifier: GPL-2.0
/*
 * Host authentication. The core makes the decisions (core/conn/hostauth.cc), and knows
 * which identity and which secret is needed when (core/endpoint/identities.cc). This file
 * has the parts that need the kernel: identities and secrets, which are keys in root's
 * user keyring, and HMACs; hostauth_dh.c has Diffie-Hellman. Keys of the initial network
 * namespace have the types "logon" and "user". Those of any other namespace have a
 * type that this module registers.
 *
 * Operation
 *
 * The core asks for identities and secrets in the setup of a connection, and for one
 * action at a time during the handshake, in a work item. Keys are looked up without
 * calling user space. A write to the parameter end_identity closes the connections of an
 * identity, for use after its secret was revoked or replaced.
 *
 * Memory
 *
 * The handshake and the expected identity are freed with the endpoint. A secret is not
 * copied, except to the transform of its HMAC, where it is overwritten after use.
 * The core zeroes proofs and shared secrets after use. The work item has a reference to
 * the endpoint, and holds off the teardown.
 *
 * Errors
 *
 * A missing or invalid key is reported as the errno of its look-up. -ENOMEM does not mean
 * that the key is missing.
 *
 * Locking
 *
 * ep->lock protects the handshake; this file does not take it. A key's semaphore is held
 * for reading while its secret is used, so that it cannot be replaced meanwhile.
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
#define RPCRDMA_AUTH_NAME	(sizeof("rpcrdma-peer:") + INET6_ADDRSTRLEN)

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
static void rpcrdma_auth_host(char *own)
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

int rpcrdma_port_auth_secret(struct rpcrdma_ep_core *core,
			     const struct rpcrdma_auth_request *req,
			     struct rpcrdma_auth_answer *answer)
{
	char name[sizeof(RPCRDMA_AUTH_PREFIX) + RPCRDMA_AUTH_MAX_IDENTITY];
	const struct user_key_payload *secret;
	struct key *key;
	int rc;

	snprintf(name, sizeof(name), RPCRDMA_AUTH_PREFIX "%s", req->identity);
	key = rpcrdma_auth_key(rpcrdma_ep_of(core)->net, &key_type_logon, name);
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
					 answer);
	up_read(&key->sem);
	key_put(key);
	return rc;
}

/*
 * Copy the identity in a key of the type "user", of at most RPCRDMA_AUTH_MAX_IDENTITY
 * bytes. Sleeps.
 * Return: 0; -ENOKEY if there is no such key; or another negative errno.
 */
static int rpcrdma_auth_named(struct net *net, const char *name, char *identity)
{
	struct key *key = rpcrdma_auth_key(net, &key_type_user, name);
	const struct user_key_payload *payload;
	int rc;

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

static int rpcrdma_auth_named(struct net *net, const char *name, char *identity)
{
	return -ENOKEY;
}

int rpcrdma_port_auth_secret(struct rpcrdma_ep_core *core,
			     const struct rpcrdma_auth_request *req,
			     struct rpcrdma_auth_answer *answer)
{
	return -EOPNOTSUPP;
}

#endif

/* ---- Identities ---- */

/* Set @name to the description of the key that has the identity of @source. */
static void rpcrdma_auth_describe(enum rpcrdma_auth_source source,
				  const struct sockaddr_storage *remote,
				  char name[RPCRDMA_AUTH_NAME])
{
	if (source == RPCRDMA_AUTH_OF_NET)
		strscpy(name, "rpcrdma-identity", RPCRDMA_AUTH_NAME);
	else
		snprintf(name, RPCRDMA_AUTH_NAME, "rpcrdma-%s:%pISc",
			 source == RPCRDMA_AUTH_EXPECTED ? "peer" : "own", remote);
}

int rpcrdma_port_auth_identity(struct rpcrdma_ep_core *core,
			       enum rpcrdma_auth_source source, char *identity)
{
	const struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	char name[RPCRDMA_AUTH_NAME];

	if (source == RPCRDMA_AUTH_OF_HOST) {
		rpcrdma_auth_host(identity);
		return 0;
	}
	if (source == RPCRDMA_AUTH_OF_NET && net_eq(ep->net, &init_net))
		return -ENOKEY;
	rpcrdma_auth_describe(source, &ep->remote, name);
	return rpcrdma_auth_named(ep->net, name, identity);
}

void rpcrdma_port_auth_invalid(struct rpcrdma_ep_core *core,
			       enum rpcrdma_auth_source source)
{
	char name[RPCRDMA_AUTH_NAME];

	if (source == RPCRDMA_AUTH_OF_HOST) {
		pr_warn_ratelimited("rpcrdma: this host's identity is not valid, see host_identity\n");
		return;
	}
	rpcrdma_auth_describe(source, &rpcrdma_ep_of(core)->remote, name);
	pr_warn_ratelimited("rpcrdma: the key %s has no valid identity\n", name);
}

const char *rpcrdma_port_auth_keep(struct rpcrdma_ep_core *core,
				   const char *identity)
{
	return kstrdup(identity, GFP_NOFS);
}

bool rpcrdma_auth_is_expected(struct net *net,
			      const struct sockaddr_storage *remote)
{
	char identity[RPCRDMA_AUTH_MAX_IDENTITY + 1], name[RPCRDMA_AUTH_NAME];

	rpcrdma_auth_describe(RPCRDMA_AUTH_EXPECTED, remote, name);
	return rpcrdma_auth_named(net, name, identity) != -ENOKEY;
}

/* ---- The handshake of a connection ---- */

void rpcrdma_port_auth_answered(struct rpcrdma_ep_core *core,
				const struct rpcrdma_auth_request *req,
				int status)
{
	trace_rpcrdma_auth_answer(rpcrdma_ep_of(core), req, status);
}

void rpcrdma_auth_answer(struct work_struct *work)
{
	struct rpcrdma_ep *ep = container_of(work, struct rpcrdma_ep, auth_work);
	/* Memory reclaim may wait for an RPC that waits for the connection. */
	unsigned int flags = rpcrdma_ep_memalloc_begin(ep);

	rpcrdma_core_auth_answer(&ep->core);
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

struct rpcrdma_hostauth *
rpcrdma_port_auth_alloc(struct rpcrdma_ep_core *core, bool dh,
			struct rpcrdma_auth_host *host)
{
	struct rpcrdma_ep *ep = rpcrdma_ep_of(core);
	int groups = 0;

	if (ep->first && !rpcrdma_algs_hashes())
		rpcrdma_algs_find();
	if (!rpcrdma_algs_known())
		return NULL;
	if (dh)
		groups = rpcrdma_dh_prepare(ep);
	if (groups < 0)
		return NULL;
	get_random_bytes(host->nonce, sizeof(host->nonce));
	host->hashes = rpcrdma_algs_hashes();
	host->groups = groups ? RPCRDMA_AUTH_ALL_GROUPS : 0;
	return kzalloc(sizeof(struct rpcrdma_hostauth), GFP_NOFS);
}

void rpcrdma_auth_listen(u32 mode)
{
	if (mode != RPCRDMA_AUTH_NONE)
		rpcrdma_algs_find();
}

void rpcrdma_auth_free(struct rpcrdma_ep *ep)
{
	rpcrdma_dh_free(ep);
	kfree_sensitive(ep->core.control.auth);
	kfree(ep->core.control.expected);
}
