// SPDX-License-Identifier: GPL-2.0
/*
 * simulate [-s SECONDS] [-k FAILURES] [-n] [-v] [-c CONNECTIONS] [-p
 * SHIFT-SHIFT] FIRST-LAST
 *
 * Run the seeds one after another. With SECONDS, begin at the first seed and
 * stop after that time. The last line is "ok" or "not ok". For a run that
 * fails, print the complaint and the seed, and, without -n, the log of the
 * shortest run found that fails in the same way. Stop after one failure, or
 * after FAILURES of them. With CONNECTIONS, a run has one server and that many
 * clients. A client's and a server's pages have 1 << SHIFT bytes.
 */
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "crowd.hh"
#include "network.hh"

namespace simulation
{

void world::log(const char *format, ...)
{
	va_list args;

	if (!verbose)
		return;
	printf("#   %12.6f ", static_cast<double>(now) / 1e6);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* Number of clients of one server; 0: a run has two machines */
static u32 connections;

u32 page_shifts[2] = { 10, 10 };

static std::string run(choices &c, totals &sum, bool verbose)
{
	world w{ c };

	w.verbose = verbose;
	if (connections)
		crowd{ w, connections }.run();
	else
		network{ w }.run();
	sum.runs++;
	sum.steps += w.steps;
	sum.rpcs += w.sum.rpcs;
	sum.connections += w.sum.connections;
	sum.losses += w.sum.losses;
	sum.killed += w.sum.killed;
	sum.timed_out += w.sum.timed_out;
	sum.refused += w.sum.refused;
	sum.failed += w.sum.failed;
	sum.pulled += w.sum.pulled;
	sum.callbacks += w.sum.callbacks;
	sum.version1 += w.sum.version1;
	sum.fallbacks += w.sum.fallbacks;
	sum.models += w.sum.models;
	sum.peers1 += w.sum.peers1;
	sum.removals += w.sum.removals;
	sum.bad += w.sum.bad;
	sum.in_pieces += w.sum.in_pieces;
	sum.short_chunks += w.sum.short_chunks;
	sum.waited += w.sum.waited;
	sum.no_room += w.sum.no_room;
	sum.reads_waited += w.sum.reads_waited;
	sum.mrs_waited += w.sum.mrs_waited;
	sum.mrs_given_up += w.sum.mrs_given_up;
	sum.mrs_short += w.sum.mrs_short;
	sum.ended_early += w.sum.ended_early;
	sum.attempts_failed += w.sum.attempts_failed;
	sum.receives_given_back += w.sum.receives_given_back;
	sum.receive_posts += w.sum.receive_posts;
	sum.receives_freed += w.sum.receives_freed;
	sum.windows_bounded += w.sum.windows_bounded;
	sum.turns += w.sum.turns;
	sum.behind += w.sum.behind;
	sum.unstopped += w.sum.unstopped;
	sum.split_finer += w.sum.split_finer;
	sum.more_segs += w.sum.more_segs;
	sum.batched += w.sum.batched;
	sum.authenticated += w.sum.authenticated;
	return w.complaint;
}

/*
 * Replace choices by the simplest ones, in ever smaller parts, as long as the
 * same complaint results. The effort is bounded, because a person waits for the
 * result.
 */
static std::vector<u32> shrink(std::vector<u32> script, const std::string &why)
{
	const clock_t begin = clock();
	totals none{};
	size_t piece = script.size();

	auto in_time = [&] {
		return clock() - begin < 5 * CLOCKS_PER_SEC;
	};
	auto fails = [&](const std::vector<u32> &s) {
		choices c{ s };

		return run(c, none, false) == why;
	};
	for (; piece && in_time(); piece /= 2) {
		for (size_t at = 0; at < script.size() && in_time();) {
			const size_t n = std::min(piece, script.size() - at);
			std::vector<u32> less = script;

			less.erase(less.begin() + static_cast<long>(at),
				   less.begin() + static_cast<long>(at + n));
			if (fails(less)) {
				script = less;
				continue;
			}
			less = script;
			std::fill_n(less.begin() + static_cast<long>(at), n, 0);
			if (less != script && fails(less))
				script = less;
			at += n;
		}
	}
	while (!script.empty() && !script.back())
		script.pop_back();
	return script;
}

static void report(u64 seed, const std::string &why, choices &made, bool story)
{
	if (!story) {
		printf("# seed %llu: %s\n", seed, why.c_str());
		return;
	}

	std::vector<u32> script = shrink(made.made(), why);
	choices c{ script };
	totals none{};

	printf("# seed %llu: %s\n", seed, why.c_str());
	printf("# after %zu choices; with the %zu that are left:\n",
	       made.made().size(), script.size());
	run(c, none, true);
	printf("# to repeat the complete run: simulate -v -p %u-%u %llu-%llu\n",
	       page_shifts[1], page_shifts[0], seed, seed);
}

} // namespace simulation

using namespace simulation;

int main(int argc, char **argv)
{
	using clock = std::chrono::steady_clock;
	const char *range = "1-1000";
	u64 first, last, seconds = 0, seed, failed = 0, most = 1;
	bool verbose = false, story = true;
	totals sum{};
	char *end;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-s") && i + 1 < argc)
			seconds = strtoull(argv[++i], nullptr, 10);
		else if (!strcmp(argv[i], "-k") && i + 1 < argc)
			most = strtoull(argv[++i], nullptr, 10);
		else if (!strcmp(argv[i], "-c") && i + 1 < argc)
			connections = static_cast<u32>(
				strtoul(argv[++i], nullptr, 10));
		else if (!strcmp(argv[i], "-p") && i + 1 < argc)
			sscanf(argv[++i], "%u-%u", &page_shifts[1],
			       &page_shifts[0]);
		else if (!strcmp(argv[i], "-n"))
			story = false;
		else if (!strcmp(argv[i], "-v"))
			verbose = true;
		else
			range = argv[i];
	}
	/* Shrinking a run with very many connections would take too long. */
	story = story && !connections;
	first = strtoull(range, &end, 10);
	last = *end == '-' ? strtoull(end + 1, nullptr, 10) : first;

	const auto begin = clock::now();
	const clock_t worked = ::clock();
	auto passed = [&] {
		return std::chrono::duration<double>(clock::now() - begin)
			.count();
	};

	for (seed = first;
	     seconds ? passed() < static_cast<double>(seconds) : seed <= last;
	     seed++) {
		choices c{ seed };
		const std::string why = run(c, sum, verbose);

		if (why.empty())
			continue;
		report(seed, why, c, story);
		if (++failed == most) {
			seed++;
			break;
		}
	}
	const double took = passed();
	/* Count only this process's time, not that of other processes. */
	const double own =
		static_cast<double>(::clock() - worked) / CLOCKS_PER_SEC;

	printf("# %llu runs, %llu RPCs in %.1f s, %.1f s of processor time: %.0f RPCs per minute of that; %llu steps\n",
	       sum.runs, sum.rpcs, took, own,
	       static_cast<double>(sum.rpcs) * 60 / own, sum.steps);
	printf("# %llu connections (%llu of version 1, %llu instead of version 2), %llu lost, %llu of them before they were used, %llu not made; %llu RPCs killed, %llu refused, %llu failed, %llu timed out; %llu Replies pulled, %llu callbacks\n",
	       sum.connections, sum.version1, sum.fallbacks, sum.losses,
	       sum.ended_early, sum.attempts_failed, sum.killed, sum.refused,
	       sum.failed, sum.timed_out, sum.pulled, sum.callbacks);
	printf("# %llu connections with an end that is the reference model, %llu with a peer of version 1; %llu devices removed; %llu bad Replies, %llu Calls with several Read chunks, %llu short Write chunks; %llu Calls waited for memory, %llu charges of memory were refused; %llu Reads waited for an MR, %llu were split finer; %llu Calls or Replies waited for MRs, of which %llu gave up; %llu MRs held less than planned; %llu Receives released, reposted with %llu calls, and %llu freed; %llu windows had no memory to grow; %llu batches of transfers were not the last, and %llu Replies followed their Writes; %llu queue pairs did not stop; %llu messages had many segments, and %llu were not the first of their batch\n",
	       sum.models, sum.peers1, sum.removals, sum.bad, sum.in_pieces,
	       sum.short_chunks, sum.waited, sum.no_room, sum.reads_waited,
	       sum.split_finer, sum.mrs_waited, sum.mrs_given_up, sum.mrs_short,
	       sum.receives_given_back, sum.receive_posts, sum.receives_freed,
	       sum.windows_bounded, sum.turns, sum.behind, sum.unstopped,
	       sum.more_segs, sum.batched);
	printf("# %llu ends were authenticated\n", sum.authenticated);
	printf("%s %llu-%llu\n", failed ? "not ok" : "ok", first, seed - 1);
	return failed ? 1 : 0;
}
