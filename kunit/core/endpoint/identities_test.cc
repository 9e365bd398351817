// SPDX-License-Identifier: GPL-2.0
/* Host authentication: whose identity counts, and what follows if one is missing */
#include <cerrno>
#include <cstring>
#include <map>
#include <string>

#include "endpoint/endpoint.hh"
#include "fixture.hh"

namespace
{

/* The results of the host's look-ups, and the sources that it was asked for */
struct keyring {
	std::map<rpcrdma_auth_source, std::string> identities;
	std::map<rpcrdma_auth_source, int> errors;
	int secret = 0;
	bool memory = true, dh = false;
	std::vector<rpcrdma_auth_source> asked, invalid;
	std::string secret_of, kept;
	rpcrdma_hostauth auth{};
};

/* Of the tests in other files */
keyring empty;
keyring *the_keyring = &empty;

} // namespace

extern "C" {

int rpcrdma_port_auth_identity(rpcrdma_ep_core *, rpcrdma_auth_source source,
			       char *identity)
{
	keyring &k = *the_keyring;

	k.asked.push_back(source);
	if (k.errors.count(source))
		return k.errors[source];
	if (!k.identities.count(source))
		return -ENOKEY;
	strcpy(identity, k.identities[source].c_str());
	return 0;
}

void rpcrdma_port_auth_invalid(rpcrdma_ep_core *, rpcrdma_auth_source source)
{
	the_keyring->invalid.push_back(source);
}

const char *rpcrdma_port_auth_keep(rpcrdma_ep_core *, const char *identity)
{
	the_keyring->kept = identity;
	return the_keyring->memory ? the_keyring->kept.c_str() : nullptr;
}

int rpcrdma_port_auth_secret(rpcrdma_ep_core *, const rpcrdma_auth_request *req,
			     rpcrdma_auth_answer *)
{
	EXPECT_EQ(req->what, RPCRDMA_AUTH_ASK_SECRET);
	the_keyring->secret_of = req->identity;
	return the_keyring->secret;
}

rpcrdma_hostauth *rpcrdma_port_auth_alloc(rpcrdma_ep_core *, bool dh,
					  rpcrdma_auth_host *host)
{
	the_keyring->dh = dh;
	host->hashes = 1 << RPCRDMA_AUTH_SHA256;
	host->groups = RPCRDMA_AUTH_ALL_GROUPS;
	return the_keyring->memory ? &the_keyring->auth : nullptr;
}

} // extern "C"

namespace
{

class Identities : public Endpoint
{
protected:
	Identities()
	{
		the_keyring = &keys;
		core->life.client = true;
		params.auth = RPCRDMA_AUTH_OFFER;
		keys.identities[RPCRDMA_AUTH_OF_HOST] = "host";
	}
	~Identities() override
	{
		the_keyring = &empty;
	}

	int begin()
	{
		return rpcrdma::begin_auth(core.get());
	}

	const rpcrdma_hostauth *auth() const
	{
		return core->control.auth;
	}

	keyring keys;
};

using sources = std::vector<rpcrdma_auth_source>;

TEST_F(Identities, TheFirstSourceThatHasOneCounts)
{
	EXPECT_EQ(begin(), 0);
	ASSERT_TRUE(auth());
	EXPECT_STREQ(auth()->own, "host");
	EXPECT_EQ(keys.asked,
		  (sources{ RPCRDMA_AUTH_EXPECTED, RPCRDMA_AUTH_TO_PEER,
			    RPCRDMA_AUTH_OF_NET, RPCRDMA_AUTH_OF_HOST }));
	keys.identities[RPCRDMA_AUTH_OF_NET] = "net";
	EXPECT_EQ(begin(), 0);
	EXPECT_EQ(keys.secret_of, "net");
	keys.identities[RPCRDMA_AUTH_TO_PEER] = "peer";
	EXPECT_EQ(begin(), 0);
	EXPECT_EQ(keys.secret_of, "peer");
	EXPECT_STREQ(auth()->own, "peer");
	EXPECT_EQ(auth()->hashes, 1 << RPCRDMA_AUTH_SHA256);
}

TEST_F(Identities, AServerHasOneForAllClients)
{
	core->life.client = false;
	keys.identities[RPCRDMA_AUTH_TO_PEER] = "peer";
	EXPECT_EQ(begin(), 0);
	EXPECT_FALSE(auth());
	EXPECT_EQ(keys.asked, (sources{ RPCRDMA_AUTH_EXPECTED }));
	EXPECT_EQ(rpcrdma::new_handshake(core.get()), &keys.auth);
	EXPECT_STREQ(auth()->own, "host");
	keys.errors[RPCRDMA_AUTH_OF_NET] = -ENOMEM;
	EXPECT_FALSE(rpcrdma::new_handshake(core.get()));
	/* It takes part in the handshake without an identity, and refuses. */
	keys.errors[RPCRDMA_AUTH_OF_NET] = -EKEYREVOKED;
	EXPECT_TRUE(rpcrdma::new_handshake(core.get()));
	EXPECT_STREQ(auth()->own, "");
}

/* An identity that is not valid is not replaced by another one. */
TEST_F(Identities, AnInvalidOneIsNone)
{
	keys.identities[RPCRDMA_AUTH_TO_PEER] = "not valid";
	EXPECT_EQ(begin(), 0);
	EXPECT_FALSE(auth());
	EXPECT_EQ(keys.secret_of, "");
	EXPECT_TRUE(keys.invalid.empty());
	params.auth = RPCRDMA_AUTH_REQUIRE;
	EXPECT_EQ(begin(), 0);
	EXPECT_FALSE(auth());
	EXPECT_EQ(keys.invalid, (sources{ RPCRDMA_AUTH_OF_HOST }));
}

TEST_F(Identities, WithoutASecretAClientTakesNoPart)
{
	for (const int rc : { -ENOKEY, -EKEYREVOKED, -EOPNOTSUPP }) {
		keys.secret = rc;
		EXPECT_EQ(begin(), 0);
		EXPECT_FALSE(auth());
	}
}

TEST_F(Identities, WithoutMemoryThereIsNoConnection)
{
	for (const rpcrdma_auth_source source :
	     { RPCRDMA_AUTH_EXPECTED, RPCRDMA_AUTH_TO_PEER,
	       RPCRDMA_AUTH_OF_NET }) {
		keys.errors[source] = -ENOMEM;
		EXPECT_EQ(begin(), -ENOMEM);
		keys.errors.clear();
	}
	keys.secret = -ENOMEM;
	EXPECT_EQ(begin(), -ENOMEM);
	keys.secret = 0;
	keys.memory = false;
	EXPECT_EQ(begin(), -ENOMEM);
	keys.identities[RPCRDMA_AUTH_EXPECTED] = "peer";
	EXPECT_EQ(begin(), -ENOMEM);
}

TEST_F(Identities, AnExpectedOneRequiresAuthentication)
{
	params.auth = RPCRDMA_AUTH_NONE;
	EXPECT_EQ(begin(), 0);
	EXPECT_FALSE(auth());
	keys.identities[RPCRDMA_AUTH_EXPECTED] = "peer";
	EXPECT_EQ(begin(), 0);
	EXPECT_EQ(params.auth, RPCRDMA_AUTH_REQUIRE);
	ASSERT_TRUE(auth());
	EXPECT_STREQ(auth()->expected, "peer");
}

TEST_F(Identities, NoConnectionIfTheExpectedOneIsNotValid)
{
	keys.identities[RPCRDMA_AUTH_EXPECTED] = "not valid";
	EXPECT_EQ(begin(), -EACCES);
	keys.errors[RPCRDMA_AUTH_EXPECTED] = -EKEYEXPIRED;
	EXPECT_EQ(begin(), -EACCES);
	EXPECT_EQ(keys.invalid,
		  (sources{ RPCRDMA_AUTH_EXPECTED, RPCRDMA_AUTH_EXPECTED }));
	EXPECT_FALSE(auth());
}

TEST_F(Identities, DiffieHellmanIsAskedForIfPermitted)
{
	EXPECT_EQ(begin(), 0);
	EXPECT_FALSE(keys.dh);
	EXPECT_EQ(auth()->groups, 1 << RPCRDMA_AUTH_NO_GROUP);
	params.auth_dh = RPCRDMA_AUTH_OFFER;
	EXPECT_EQ(begin(), 0);
	EXPECT_TRUE(keys.dh);
	EXPECT_EQ(auth()->groups,
		  RPCRDMA_AUTH_ALL_GROUPS | 1 << RPCRDMA_AUTH_NO_GROUP);
}

} // namespace
