// SPDX-License-Identifier: GPL-2.0
/* Secrets of host authentication */
#include <linux/key-type.h>
#include <keys/user-type.h>

#include "pair.h"

static struct key *shim_new_key(struct key_type *type, const char *name,
				const char *data, size_t octets)
{
	struct key *key = key_alloc(type, name, GLOBAL_ROOT_UID, GLOBAL_ROOT_GID,
				    current_cred(), KEY_POS_ALL,
				    KEY_ALLOC_NOT_IN_QUOTA, NULL);
	int rc;

	if (IS_ERR(key))
		return key;
	rc = key_instantiate_and_link(key, data, octets, NULL, NULL);
	if (!rc)
		return key;
	key_put(key);
	return ERR_PTR(rc);
}

struct key *shim_key(const char *secret, size_t octets)
{
	return shim_new_key(&key_type_logon, "rpcrdma:" SHIM_IDENTITY, secret, octets);
}

struct key *shim_identity_key(const char *identity)
{
	return shim_new_key(&key_type_user, "rpcrdma-peer:shim", identity,
			    strlen(identity));
}

void shim_find(struct key *key)
{
	unsigned int i;

	for (i = 0; i < SHIM_LOOKUPS; i++)
		shim_secrets[i] = key;
	shim_lookups = 0;
}
