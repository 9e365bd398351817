// SPDX-License-Identifier: GPL-2.0
/* Secrets of host authentication */
#include <linux/key-type.h>
#include <keys/user-type.h>

#include "pair.h"

static struct key *loop_new_key(struct key_type *type, const char *name,
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

struct key *loop_key(const char *secret, size_t octets)
{
	return loop_new_key(&key_type_logon, "rpcrdma:" LOOP_IDENTITY, secret, octets);
}

struct key *loop_identity_key(const char *identity)
{
	return loop_new_key(&key_type_user, "rpcrdma-peer:loopback", identity,
			    strlen(identity));
}

void loop_find(struct key *key)
{
	unsigned int i;

	for (i = 0; i < LOOP_LOOKUPS; i++)
		loop_secrets[i] = key;
	loop_lookups = 0;
}
