/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Definitions that the sources of rpcrdma-ping share */
#ifndef PING_PING_HH
#define PING_PING_HH

#include <netdb.h>
#include <string>
#include <vector>

#include "link.hh"
#include "rpc.hh"

namespace ping
{

/* The exit statuses; see Documentation/rpcrdma-ping.rst */
enum exit_status {
	EXIT_GOOD = 0,
	EXIT_USAGE = 1,
	EXIT_LOCAL = 2,
	EXIT_UNREACHABLE = 3,
	EXIT_REFUSED = 4,
	EXIT_SILENT = 5,
	EXIT_VERSION = 6,
	EXIT_RPC = 7,
	EXIT_LOST = 8,
	EXIT_AUTH = 9,
};

struct options {
	settings own;
	std::string host, port = "20049";
	uint32_t program = 100003,
		 program_version = 0; /* 0: 3, or the highest of the server */
	uint32_t count = 10;
	uint32_t size = CALL_OCTETS;
	uint64_t interval = 100000000; /* nanoseconds */
	bool json = false, load = false, server = false;
	uint32_t depth = 0;    /* load: Calls outstanding; 0: the window */
	uint64_t seconds = 10; /* load */
	bool silent = false, reject = false; /* server */
};

/* The results of a run */
struct result {
	int status = EXIT_GOOD;
	const char *key = "ok"; /* the status as a word, for programs */
	std::string sentence;	/* the cause of a failure */
	std::string device;
	rpcrdma2_conn_info info = {};
	std::string identity;		  /* of the peer */
	bool remote_invalidation = false; /* of this end */
	uint64_t connect = 0, opened = 0; /* nanoseconds */
	uint32_t program_version = 0;
	std::vector<uint64_t> times;	 /* nanoseconds, of each Reply */
	uint64_t bytes = 0, elapsed = 0; /* load */
	uint32_t depth = 0;
};

/* Addresses of the host, or to listen at */
class addrinfo_of
{
public:
	explicit addrinfo_of(const options &o)
	{
		addrinfo hints = {};

		hints.ai_socktype = SOCK_STREAM;
		hints.ai_flags = o.server ? AI_PASSIVE : 0;
		if (o.server)
			hints.ai_family = AF_INET6;
		error = getaddrinfo(o.host.empty() ? nullptr : o.host.c_str(),
				    o.port.c_str(), &hints, &list_);
	}
	addrinfo_of(const addrinfo_of &) = delete;
	addrinfo_of &operator=(const addrinfo_of &) = delete;
	~addrinfo_of()
	{
		if (list_)
			freeaddrinfo(list_);
	}
	sockaddr *address() const
	{
		return list_ ? list_->ai_addr : nullptr;
	}

	int error;

private:
	addrinfo *list_ = nullptr;
};

/* Return the time until @until for poll(). */
int wait_ms(uint64_t until);

result run(const options &o);
int serve(const options &o);
void print(const options &o, const result &r);
void print_json(const options &o, const result &r);

} // namespace ping

#endif /* PING_PING_HH */
