// SPDX-License-Identifier: GPL-2.0
/* Secrets of host authentication */
#include <linux/key-type.h>
#include <keys/user-type.h>

#include "pair.h"

struct key *shim_key(const char *secret, size_t octets)
{
	struct key *key = key_alloc(&key_type_logon, "rpcrdma:" SHIM_IDENTITY,
				    GLOBAL_ROOT_UID, GLOBAL_ROOT_GID,
				    current_cred(), KEY_POS_ALL,
				    KEY_ALLOC_NOT_IN_QUOTA, NULL);
	int rc;

	if (IS_ERR(key))
		return key;
	rc = key_instantiate_and_link(key, secret, octets, NULL, NULL);
	if (!rc)
		return key;
	key_put(key);
	return ERR_PTR(rc);
}

void shim_find(struct key *key)
{
	unsigned int i;

	for (i = 0; i < SHIM_LOOKUPS; i++)
		shim_secrets[i] = key;
	shim_lookups = 0;
}
