// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* rpcrdma-ping: try RPC-over-RDMA to a host, and print the negotiated properties. */
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>

#include "ping.hh"

using namespace ping;

namespace
{

const char USAGE[] =
	"usage: rpcrdma-ping [OPTION]... HOST\n"
	"       rpcrdma-ping --server [OPTION]...\n"
	"\n"
	"  -p, --port=PORT         port of the service, default 20049\n"
	"  -c, --count=N           number of Calls, default 10\n"
	"  -i, --interval=SECONDS  time between Calls, default 0.1\n"
	"  -t, --timeout=SECONDS   limit for each step and each Reply, default 5\n"
	"  -P, --program=NUMBER[:VERSION]\n"
	"                          default 100003 (NFS) version 3, or the highest version\n"
	"                          of the server\n"
	"  -s, --size=BYTES        size of each Call, at least 40\n"
	"  -v, --version=N         use only this version of RPC-over-RDMA, 1 or 2\n"
	"  -w, --window=N          Receives that this end posts, default 32\n"
	"      --inline=BYTES      inline threshold of this end, default 4096\n"
	"  -l, --load[=N]          keep N Calls outstanding; default: the window\n"
	"      --time=SECONDS      duration of the load, default 10\n"
	"      --identity=NAME     require host authentication, and authenticate as NAME\n"
	"      --secret=FILE       secret of NAME; default: the key rpcrdma:NAME of type user\n"
	"  -j, --json              print JSON\n"
	"      --server            listen, and answer the procedure NULL of any program\n"
	"      --silent            as a server, accept connections and answer nothing\n"
	"      --reject            as a server, reject connections\n"
	"  -h, --help              print this text\n"
	"\n"
	"Exit status: 0 good, 1 usage, 2 this host, 3 unreachable, 4 refused, 5 silent,\n"
	"6 version 1 only, 7 RPC error, 8 connection lost, 9 host authentication failed\n";

[[noreturn]] void usage(const char *what)
{
	fprintf(stderr, "rpcrdma-ping: %s\n\n%s", what, USAGE);
	exit(EXIT_USAGE);
}

double number(const char *text, double least, double most)
{
	char *end;

	errno = 0;

	const double value = strtod(text, &end);

	if (errno || end == text || *end || !(value >= least) || value > most)
		usage((std::string(text) + " is out of range").c_str());
	return value;
}

uint32_t whole(const char *text, uint32_t least, uint32_t most)
{
	const double value = number(text, least, most);

	if (value != static_cast<uint32_t>(value))
		usage((std::string(text) + " is no whole number").c_str());
	return static_cast<uint32_t>(value);
}

uint64_t seconds(const char *text)
{
	return static_cast<uint64_t>(number(text, 0, 86400) * 1e9);
}

void program(options &o, std::string text)
{
	const size_t colon = text.find(':');

	if (colon != std::string::npos) {
		o.program_version = whole(text.c_str() + colon + 1, 1, ~0u);
		text.resize(colon);
	}
	o.program = whole(text.c_str(), 1, ~0u);
}

enum {
	OPT_INLINE = 256,
	OPT_TIME,
	OPT_SERVER,
	OPT_SILENT,
	OPT_REJECT,
	OPT_IDENTITY,
	OPT_SECRET,
};

const option LONG[] = {
	{ "port", required_argument, nullptr, 'p' },
	{ "count", required_argument, nullptr, 'c' },
	{ "interval", required_argument, nullptr, 'i' },
	{ "timeout", required_argument, nullptr, 't' },
	{ "program", required_argument, nullptr, 'P' },
	{ "size", required_argument, nullptr, 's' },
	{ "version", required_argument, nullptr, 'v' },
	{ "window", required_argument, nullptr, 'w' },
	{ "inline", required_argument, nullptr, OPT_INLINE },
	{ "load", optional_argument, nullptr, 'l' },
	{ "time", required_argument, nullptr, OPT_TIME },
	{ "json", no_argument, nullptr, 'j' },
	{ "server", no_argument, nullptr, OPT_SERVER },
	{ "silent", no_argument, nullptr, OPT_SILENT },
	{ "reject", no_argument, nullptr, OPT_REJECT },
	{ "identity", required_argument, nullptr, OPT_IDENTITY },
	{ "secret", required_argument, nullptr, OPT_SECRET },
	{ "help", no_argument, nullptr, 'h' },
	{},
};

void authenticate(const options &o, const std::string &secret)
{
	const std::string &name = o.own.identity;

	if (o.own.version_high < 2)
		usage("version 1 has no host authentication");
	if (name.size() > RPCRDMA2_AUTH_MAX_IDENTITY ||
	    std::any_of(name.begin(), name.end(),
			[](char c) { return c <= ' ' || c > '~'; }))
		usage("the identity is not valid");
	try {
		read_secret(secret, name);
	} catch (const failure &f) {
		usage(f.text.c_str());
	}
}

options parse(int argc, char **argv)
{
	std::string secret;
	options o;
	int c;

	while ((c = getopt_long(argc, argv, "p:c:i:t:P:s:v:w:l::jh", LONG,
				nullptr)) != -1) {
		switch (c) {
		case 'p':
			o.port = optarg;
			break;
		case 'c':
			o.count = whole(optarg, 1, 1000000);
			break;
		case 'i':
			o.interval = seconds(optarg);
			break;
		case 't':
			o.own.timeout = seconds(optarg);
			if (o.own.timeout < 10000000)
				usage("the timeout is too short");
			break;
		case 'P':
			program(o, optarg);
			break;
		case 's':
			o.size = whole(optarg, CALL_OCTETS, 262144) & ~3u;
			break;
		case 'v':
			o.own.version_low = o.own.version_high =
				whole(optarg, 1, 2);
			break;
		case 'w':
			o.own.window = whole(optarg, 4, 1024);
			break;
		case OPT_INLINE:
			o.own.inline_size = whole(optarg, 1024, 262144);
			break;
		case 'l':
			o.load = true;
			if (optarg)
				o.depth = whole(optarg, 1, 65535);
			break;
		case OPT_TIME:
			o.seconds = whole(optarg, 1, 86400);
			break;
		case 'j':
			o.json = true;
			break;
		case OPT_SERVER:
			o.server = true;
			break;
		case OPT_SILENT:
			o.silent = true;
			break;
		case OPT_REJECT:
			o.reject = true;
			break;
		case OPT_IDENTITY:
			o.own.identity = optarg;
			break;
		case OPT_SECRET:
			secret = optarg;
			break;
		case 'h':
			fputs(USAGE, stdout);
			exit(EXIT_GOOD);
		default:
			usage("the options are not valid");
		}
	}
	if (o.server) {
		if (optind != argc)
			usage("a server has no HOST");
	} else {
		if (optind + 1 != argc)
			usage("there has to be one HOST");
		o.host = argv[optind];
	}
	if (o.own.identity.empty() && !secret.empty())
		usage("a secret needs an --identity");
	if (!o.own.identity.empty())
		authenticate(o, secret);
	return o;
}

} // namespace

int main(int argc, char **argv)
{
	const options o = parse(argc, argv);

	if (o.server)
		return serve(o);

	const result r = run(o);

	if (o.json)
		print_json(o, r);
	else
		print(o, r);
	return r.status;
}
