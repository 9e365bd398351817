// SPDX-License-Identifier: GPL-2.0
/*
 * Host authentication: the hosts' identities and secrets, and their answers to the
 * core. A secret is a number here. Both ends have the same one, or different ones.
 */
#include <cerrno>
#include <cstring>

#include <stand_in.hh>

#include "network.hh"

namespace simulation
{

/* Duration of a look-up, or of both HMACs, in microseconds */
constexpr u64 USUAL_ANSWER = 30;
/* Attempts of a client until a wrong secret at either end is corrected */
constexpr u32 ATTEMPTS_WRONG = 2;

/*
 * Of some connections that have a secret, the look-up of kind @kind fails for lack of
 * memory. Derived from the number of the connection, because one more choice would
 * change all recorded runs.
 */
bool endpoint::forgets(u32 kind) const
{
	return params.secret && params.cfg.number % 16 == kind;
}

/*
 * The client's identity is configured in one of three places. Those that count less
 * have another one.
 */
int endpoint::identity(enum rpcrdma_auth_source source, char *identity)
{
	const u32 own = RPCRDMA_AUTH_TO_PEER + params.cfg.number % 3;
	std::string is;

	if (!life.client && source == RPCRDMA_AUTH_TO_PEER)
		w_.complain("a server has an identity for one client");
	if (source == RPCRDMA_AUTH_EXPECTED) {
		if (forgets(3))
			return -ENOMEM;
		if (params.auth == RPCRDMA_AUTH_REQUIRE)
			is = life.client ? "server" : "client";
	} else if (!life.client) {
		is = source == RPCRDMA_AUTH_OF_HOST ? "server" : "";
	} else if (source >= own) {
		is = source == own ? "client" : "another";
	}
	if (is.empty())
		return -ENOKEY;
	strcpy(identity, is.c_str());
	return 0;
}

/* Begin a handshake. Return null without memory. */
rpcrdma_hostauth *endpoint::new_auth(bool dh, rpcrdma_auth_host *host)
{
	if (!params.auth)
		w_.complain(std::string(name) + ": takes part unasked");
	if (!life.client) {
		due_[RPCRDMA_COUNT_AUTHS_STARTED]++;
		if (w_.fault(100))
			return nullptr;
	}
	store(host->nonce, params.cfg.number);
	host->nonce[4] = life.client;
	host->hashes = RPCRDMA_AUTH_ALL_HASHES;
	host->groups = dh ? RPCRDMA_AUTH_ALL_GROUPS : 0;
	if (dh)
		exchange.secret = 2 * params.cfg.number + 1000 + life.client;
	return &handshake;
}

void endpoint::auth_asked()
{
	w_.after(w_.delay(USUAL_ANSWER), this, AUTH);
}

/* Look up the secret. Return the status of an answer. */
int endpoint::secret(const rpcrdma_auth_request &ask)
{
	if (strcmp(ask.identity, "client"))
		w_.complain(std::string(name) + ": asks for another secret");
	/* A client looks for its secret before it has a handshake. */
	if (control.auth ? w_.fault(100) : forgets(7))
		return -ENOMEM;
	return params.secret ? 0 : -ENOKEY;
}

int endpoint::keys(const rpcrdma_auth_dh &dh, u8 *public_value)
{
	rpcrdma_auth_answer answer{};

	due_[RPCRDMA_COUNT_AUTHS_DH]++;
	if (w_.fault(100))
		return -ENOMEM;
	exchange.keys(dh, answer);
	memcpy(public_value, answer.public_value, dh.octets);
	return 0;
}

/* Compute the shared secret. The device of some ends refuses. */
int endpoint::share(const rpcrdma_auth_dh &dh, u8 *shared)
{
	due_[RPCRDMA_COUNT_AUTHS_DH]++;
	if (!exchange.secret)
		w_.complain(std::string(name) + ": has no private value");
	if (forgets(11))
		return -EIO;
	exchange.share(dh, shared);
	return 0;
}

/* Answer a request for the secret, or for proofs. */
int endpoint::answer(const rpcrdma_auth_request &ask,
		     rpcrdma_auth_answer *answer)
{
	const int rc = secret(ask);

	if (ask.what != RPCRDMA_AUTH_ASK_PROOFS)
		return rc;
	if (exchange.secret)
		w_.complain(std::string(name) +
			    ": keeps a private value that it does not need");
	for (u32 i = 0; !rc && i < 2; i++)
		engine_test::stand_in(std::to_string(params.secret),
				      ask.input[i], ask.mac_octets,
				      answer->proof[i],
				      exchange.more(ask.dh, answer->shared));
	return rc;
}

/* Each other status of an answer is a statement about a secret. */
void endpoint::auth_answered(int status)
{
	if (status && status != -ENOKEY && status != -ENOMEM &&
	    status != -EOPNOTSUPP)
		w_.complain(std::string(name) +
			    ": a failed computation is blamed on the secret");
}

/*
 * Give secrets to both ends in some runs. Derive the choice from a number
 * already chosen, because one more choice would change all recorded runs.
 */
void network::choose_secrets()
{
	endpoint_params &client = setup_.client, &server = setup_.server;
	const u32 number = setup_.rpcs % 16;

	/* An end that refuses its peer's properties also ends the handshake. */
	if (v1_peer_ || client.refuses_props || server.refuses_props)
		return;
	client.auth = server.auth = RPCRDMA_AUTH_OFFER;
	choose_groups();
	switch (number) {
	case 3:
		client.secret = server.secret = 1;
		break;
	case 5:
		client.secret = server.secret = 1;
		/* Require authentication only if both ends have version 2. */
		if (client.cfg.version_high > 1 && server.cfg.version_high > 1)
			client.auth = server.auth = RPCRDMA_AUTH_REQUIRE;
		break;
	case 9:
		client.secret = 1;
		break;
	case 11:
		server.secret = 1;
		break;
	case 13:
		client.secret = 2;
		server.secret = 1;
		client.secrets_differ = server.secrets_differ = true;
		break;
	}
}

/* Let one end or both have Diffie-Hellman. If one must have it, both can. */
void network::choose_groups()
{
	const u32 number = setup_.rpcs / 16 % 4;

	setup_.client.dh = number ? RPCRDMA_AUTH_OFFER : RPCRDMA_AUTH_NONE;
	setup_.server.dh = number == 3 ? RPCRDMA_AUTH_REQUIRE :
			   number > 1  ? RPCRDMA_AUTH_OFFER :
					 RPCRDMA_AUTH_NONE;
}

/* Correct a wrong secret after some attempts. Until then attempts fail. */
void network::renew_secrets()
{
	if (setup_.client.secret != 2 || attempts_ <= ATTEMPTS_WRONG)
		return;
	setup_.client.secret = 1;
	setup_.client.secrets_differ = setup_.server.secrets_differ = false;
}

/*
 * Complain if a connection is open that must not be, or is open without the
 * authentication that both ends support.
 */
void network::check_secrets(const endpoint &ep)
{
	const u32 client = setup_.client.secret, server = setup_.server.secret;
	const bool done = rpcrdma_conn_auth_result(&ep.conn) ==
			  RPCRDMA_AUTH_DONE;

	if (ep.params.auth == RPCRDMA_AUTH_REQUIRE &&
	    ep.control.params->auth != RPCRDMA_AUTH_REQUIRE)
		w_.complain(std::string(ep.name) +
			    ": does not require what its peer must prove");
	if (ep.conn.version == RPCRDMA_VERS_2 &&
	    done != (client && client == server))
		w_.complain(
			std::string(ep.name) +
			(done ? ": authenticated without the secret" :
				": open without the proof of a common secret"));
	if (done && (strcmp(rpcrdma_auth_group_name(&ep.conn), "none") != 0) !=
			    (setup_.client.dh && setup_.server.dh))
		w_.complain(std::string(ep.name) +
			    ": another group than both ends have");
}

} // namespace simulation

using namespace simulation;

int rpcrdma_port_auth_identity(struct rpcrdma_ep_core *core,
			       enum rpcrdma_auth_source source, char *identity)
{
	return of(core).identity(source, identity);
}

void rpcrdma_port_auth_invalid(struct rpcrdma_ep_core *,
			       enum rpcrdma_auth_source)
{
}

const char *rpcrdma_port_auth_keep(struct rpcrdma_ep_core *core,
				   const char *identity)
{
	return (of(core).expected = identity).c_str();
}

struct rpcrdma_hostauth *rpcrdma_port_auth_alloc(struct rpcrdma_ep_core *core,
						 bool dh,
						 struct rpcrdma_auth_host *host)
{
	return of(core).new_auth(dh, host);
}

void rpcrdma_port_auth(struct rpcrdma_ep_core *core)
{
	of(core).auth_asked();
}

int rpcrdma_port_auth_secret(struct rpcrdma_ep_core *core,
			     const struct rpcrdma_auth_request *req,
			     struct rpcrdma_auth_answer *answer)
{
	return of(core).answer(*req, answer);
}

int rpcrdma_port_auth_keys(struct rpcrdma_ep_core *core,
			   const struct rpcrdma_auth_dh *dh, u8 *public_value)
{
	return of(core).keys(*dh, public_value);
}

int rpcrdma_port_auth_shared(struct rpcrdma_ep_core *core,
			     const struct rpcrdma_auth_dh *dh, u8 *shared)
{
	return of(core).share(*dh, shared);
}

void rpcrdma_port_auth_forget(struct rpcrdma_ep_core *core)
{
	of(core).exchange.secret = 0;
}

void rpcrdma_port_auth_answered(struct rpcrdma_ep_core *core,
				const struct rpcrdma_auth_request *, int status)
{
	of(core).auth_answered(status);
}
