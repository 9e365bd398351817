// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The output of rpcrdma-ping */
#include <algorithm>
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "ping.hh"

namespace ping
{

namespace
{

/* Times in microseconds, each bucket twice as long as the one before it */
struct bucket {
	double from, to;
	size_t count;
};

struct statistics {
	double least, median, p99, most;
	std::vector<bucket> histogram;
};

/* Return the time that the given share of the Calls does not exceed. */
double quantile(const std::vector<double> &sorted, double share)
{
	const size_t last = sorted.size() - 1;
	const auto at =
		static_cast<size_t>(share * static_cast<double>(sorted.size()));

	return sorted[std::min(at, last)];
}

statistics measure(const result &r)
{
	std::vector<double> us;
	statistics s = {};

	for (uint64_t ns : r.times)
		us.push_back(static_cast<double>(ns) / 1000);
	std::sort(us.begin(), us.end());
	if (us.empty())
		return s;
	s.least = us.front();
	s.median = quantile(us, 0.5);
	s.p99 = quantile(us, 0.99);
	s.most = us.back();

	double from = 1;

	while (from * 2 <= s.least)
		from *= 2;
	for (auto at = us.begin(); at != us.end(); from *= 2) {
		const auto end = std::lower_bound(at, us.end(), from * 2);

		s.histogram.push_back(
			{ from, from * 2, static_cast<size_t>(end - at) });
		at = end;
	}
	return s;
}

double per_second(double what, uint64_t ns)
{
	return ns ? what * 1e9 / static_cast<double>(ns) : 0;
}

const char *brs_name(uint32_t brs)
{
	static const char *const names[] = { "none", "simple", "continued",
					     "chunks" };

	return brs < 4 ? names[brs] : "unknown";
}

const char *why(const result &r)
{
	const std::string key = r.info.version_why ? r.info.version_why : "";

	if (key == "both")
		return "both ends have it";
	if (key == "refused")
		return "the server has refused version 2";
	if (key == "setting")
		return "as asked for";
	return "not chosen";
}

void print_connection(const result &r)
{
	const rpcrdma2_conn_info &i = r.info;

	printf("version     %u: %s\n", i.version, why(r));
	printf("device      %s\n", r.device.c_str());
	printf("connected   in %.3f ms, open in %.3f ms\n",
	       static_cast<double>(r.connect) / 1e6,
	       static_cast<double>(r.opened) / 1e6);
	printf("threshold   Calls %u bytes, Replies %u bytes\n", i.send_inline,
	       i.recv_inline);
	printf("window      this end %u messages, the server %u\n",
	       i.recv_window, i.send_window);
	if (i.auth != std::string("none"))
		printf("host auth   %s: %s, %s, Diffie-Hellman %s\n", i.auth,
		       r.identity.c_str(), i.auth_hash, i.auth_dh);
	printf("properties  %s\n", i.version == 2 ?
					   "of the server" :
					   "of the server: none in version 1");
	if (i.version == 2) {
		printf("  Maximum Send Size %u, Receive Buffer Size %u\n",
		       i.peer.sbsiz, i.peer.rbsiz);
		printf("  Maximum Segment Size %u, Maximum Segment Count %u\n",
		       i.peer.rssiz, i.peer.rcsiz);
		printf("  Reply Read:%s%s%s, Reassembly %u\n",
		       i.peer.reply_read & RPCRDMA2_REPLY_READ_PULL ? " pulls" :
								      "",
		       i.peer.reply_read & RPCRDMA2_REPLY_READ_PROVIDE ?
			       " provides" :
			       "",
		       i.peer.reply_read ? "" : " none", i.peer.reassembly);
	}
	printf("invalidates this end %s, the server %s\n",
	       r.remote_invalidation ? "yes" : "no",
	       !i.peer_private.valid		  ? "unknown" :
	       i.peer_private.remote_invalidation ? "yes" :
						    "no");
}

void print_times(const result &r)
{
	const statistics s = measure(r);
	size_t most = 1;

	printf("round trip  %zu Calls: min %.1f, median %.1f, p99 %.1f, max %.1f us\n",
	       r.times.size(), s.least, s.median, s.p99, s.most);
	for (const bucket &b : s.histogram)
		most = std::max(most, b.count);
	for (const bucket &b : s.histogram)
		printf("  %8.0f us  %8zu  %s\n", b.from, b.count,
		       std::string(b.count * 40 / most, '#').c_str());
}

} // namespace

void print(const options &o, const result &r)
{
	if (r.info.open)
		print_connection(r);
	if (!r.times.empty()) {
		printf("program     %u version %u\n", o.program,
		       r.program_version);
		print_times(r);
	}
	if (o.load && r.elapsed)
		printf("load        %u outstanding: %.0f Calls/s, %.2f MB/s\n",
		       r.depth,
		       per_second(static_cast<double>(r.times.size()),
				  r.elapsed),
		       per_second(static_cast<double>(r.bytes), r.elapsed) /
			       1e6);
	fflush(stdout);
	if (r.status)
		fprintf(stderr, "rpcrdma-ping: %s\n", r.sentence.c_str());
}

void print_json(const options &o, const result &r)
{
	const rpcrdma2_conn_info &i = r.info;
	const statistics s = measure(r);
	nlohmann::ordered_json j;

	j["host"] = o.host;
	j["port"] = o.port;
	j["status"] = r.key;
	j["exit"] = r.status;
	if (r.status)
		j["error"] = r.sentence;
	if (!r.device.empty())
		j["device"] = r.device;
	if (i.open) {
		j["version"] = i.version;
		j["version_why"] = i.version_why;
		j["connect_us"] = static_cast<double>(r.connect) / 1000;
		j["open_us"] = static_cast<double>(r.opened) / 1000;
		j["threshold"] = { { "calls", i.send_inline },
				   { "replies", i.recv_inline } };
		j["window"] = { { "own", i.recv_window },
				{ "server", i.send_window } };
		j["remote_invalidation"] = {
			{ "own", r.remote_invalidation },
			{ "server",
			  i.peer_private.valid ?
				  nlohmann::ordered_json(
					  i.peer_private.remote_invalidation !=
					  0) :
				  nlohmann::ordered_json() },
		};
	}
	if (i.open)
		j["auth"] = { { "state", i.auth },
			      { "hash", i.auth_hash },
			      { "dh", i.auth_dh },
			      { "identity", r.identity } };
	if (i.open && i.version == 2)
		j["properties"] = {
			{ "send_size", i.peer.sbsiz },
			{ "receive_size", i.peer.rbsiz },
			{ "segment_size", i.peer.rssiz },
			{ "segment_count", i.peer.rcsiz },
			{ "reverse", brs_name(i.peer.brs) },
			{ "reply_read", i.peer.reply_read },
			{ "reassembly", i.peer.reassembly },
		};
	if (!r.times.empty()) {
		j["program"] = { { "number", o.program },
				 { "version", r.program_version } };
		j["round_trip_us"] = { { "count", r.times.size() },
				       { "min", s.least },
				       { "median", s.median },
				       { "p99", s.p99 },
				       { "max", s.most } };
		for (const bucket &b : s.histogram)
			j["histogram_us"].push_back({ { "from", b.from },
						      { "to", b.to },
						      { "count", b.count } });
	}
	if (o.load && r.elapsed)
		j["load"] = { { "outstanding", r.depth },
			      { "calls_per_second",
				per_second(static_cast<double>(r.times.size()),
					   r.elapsed) },
			      { "bytes_per_second",
				per_second(static_cast<double>(r.bytes),
					   r.elapsed) } };
	printf("%s\n", j.dump(2).c_str());
}

} // namespace ping
