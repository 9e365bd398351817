// SPDX-License-Identifier: GPL-2.0
/* The gateway's connection to nfsd */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "server.h"

uint16_t nfs_port;
static int nfs = -1;

static void nfs_close(void)
{
	if (nfs >= 0)
		close(nfs);
	nfs = -1;
}

static bool nfs_io(void *data, size_t len, bool out)
{
	while (len) {
		ssize_t n = out ? write(nfs, data, len) : read(nfs, data, len);

		if (n <= 0)
			return false;
		data = (uint8_t *)data + n;
		len -= n;
	}
	return true;
}

/* Receive one RPC message of nfsd. Return its length in bytes, 0: none. */
static uint32_t nfs_message(uint8_t *message)
{
	uint32_t mark, got = 0;

	do {
		if (!nfs_io(&mark, 4, false))
			return 0;
		mark = ntohl(mark);
		if ((mark & 0x7fffffff) > MAX_RPC - got ||
		    !nfs_io(message + got, mark & 0x7fffffff, false))
			return 0;
		got += mark & 0x7fffffff;
	} while (!(mark & 0x80000000));
	return got;
}

/*
 * Answer a callback. For nfsd, this program is the client, and this connection is the
 * session's backchannel. nfsd only checks that a callback service exists, because no
 * operation of these tests causes a recall.
 */
static bool nfs_callback(const uint8_t *call)
{
	uint32_t reply[7] = { htonl(0x80000000 | 24), 0, htonl(1) };

	trail_add("callback, procedure %u", get(call, 20));
	memcpy(reply + 1, call, 4);
	/* PROC_UNAVAIL for all procedures except NULL */
	reply[6] = get(call, 20) ? htonl(3) : 0;
	return nfs_io(reply, sizeof(reply), true);
}

static uint32_t nfs_try(void *rpc, uint32_t len, uint8_t *answer)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(nfs_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct timeval tv = { .tv_sec = 8 * scale };
	uint32_t mark = htonl(0x80000000 | len), got;

	if (nfs < 0) {
		nfs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(nfs, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		if (connect(nfs, (struct sockaddr *)&sin, sizeof(sin)))
			goto fail;
	}
	if (!nfs_io(&mark, 4, true) || !nfs_io(rpc, len, true))
		goto fail;
	while ((got = nfs_message(answer))) {
		if (got < 24 || get(answer, 4))
			return got;
		if (!nfs_callback(answer))
			break;
	}

fail:
	nfs_close();
	return 0;
}

uint32_t nfs_ask(void *rpc, uint32_t len, uint8_t *answer)
{
	uint32_t n = nfs_try(rpc, len, answer);

	/* nfsd closes idle connections. */
	return n ? n : nfs_try(rpc, len, answer);
}
