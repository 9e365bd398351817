// SPDX-License-Identifier: GPL-2.0
/*
 * Host authentication: the hosts' secrets, and their answers to the core. A
 * secret is a number here. Both ends have the same one, or different ones.
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

/* Initialise the handshake. */
void endpoint::new_handshake()
{
	u8 nonce[RPCRDMA_AUTH_NONCE] = {};

	store(nonce, params.cfg.number);
	nonce[4] = life.client;
	if (!rpcrdma_auth_init(&handshake, life.client ? "client" : "server",
			       life.client ? "server" : "", nonce))
		w_.complain("the name of a host is not valid");
	rpcrdma_auth_set_groups(&handshake,
				static_cast<rpcrdma_auth_mode>(params.dh),
				RPCRDMA_AUTH_ALL_GROUPS);
	exchange.secret = 2 * params.cfg.number + 1000 + life.client;
}

/* Begin a handshake if this is a client with a secret, as the module does. */
void endpoint::offer_auth()
{
	if (!params.auth || !life.client || !params.secret)
		return;
	new_handshake();
	control.auth = &handshake;
}

/* Begin the handshake that a client requests. Return null without memory. */
rpcrdma_hostauth *endpoint::new_auth()
{
	if (life.client || !params.auth)
		w_.complain(std::string(name) + ": takes part unasked");
	due_[RPCRDMA_COUNT_AUTHS_STARTED]++;
	if (w_.fault(100))
		return nullptr;
	new_handshake();
	return &handshake;
}

void endpoint::auth_asked()
{
	w_.after(w_.delay(USUAL_ANSWER), this, AUTH);
}

/* Answer the core's request. Return events. */
u32 endpoint::answer_auth()
{
	rpcrdma_auth_request ask;
	rpcrdma_auth_answer answer{};

	rpcrdma_auth_next(&conn, &ask);
	if (ask.what == RPCRDMA_AUTH_ASK_NOTHING)
		return 0;
	if (strcmp(ask.identity, "client"))
		w_.complain(std::string(name) + ": asks for another secret");
	if (w_.fault(100))
		answer.status = -ENOMEM;
	else if (ask.what == RPCRDMA_AUTH_ASK_KEYS)
		exchange.keys(ask.dh, answer);
	else if (!params.secret)
		answer.status = -ENOKEY;
	if (!answer.status && ask.what == RPCRDMA_AUTH_ASK_PROOFS) {
		for (u32 i = 0; i < 2; i++)
			engine_test::stand_in(std::to_string(params.secret),
					      ask.input[i], ask.mac_octets,
					      answer.proof[i],
					      exchange.shared(ask.dh));
	}
	return rpcrdma_auth_answered(&conn, &answer);
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
