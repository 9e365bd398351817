// SPDX-License-Identifier: GPL-2.0
/*
 * simulate [-s SECONDS] [-k FAILURES] [-v] FIRST-LAST
 *
 * Runs the seeds one after another; with SECONDS from the first on as many as
 * there is time for. Ends with "ok" or "not ok". For a run that fails it prints
 * what was wrong, the seed, and the story of the shortest run found that fails
 * in the same way; and stops after one, or FAILURES of them.
 */
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "network.h"

namespace simulation
{

void world::tell(const char *format, ...)
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

static std::string run(choices &c, totals &sum, bool verbose)
{
	world w{ c };
	network net{ w };

	w.verbose = verbose;
	net.run();
	sum.runs++;
	sum.steps += w.steps;
	sum.exchanges += w.sum.exchanges;
	sum.connections += w.sum.connections;
	sum.losses += w.sum.losses;
	sum.killed += w.sum.killed;
	sum.timed_out += w.sum.timed_out;
	sum.refused += w.sum.refused;
	sum.failed += w.sum.failed;
	sum.pulled += w.sum.pulled;
	sum.callbacks += w.sum.callbacks;
	sum.version1 += w.sum.version1;
	return w.complaint;
}

/*
 * Replace choices by the plainest, in ever smaller pieces, as long as the same
 * complaint comes. Bounded: a person waits for it.
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

static void report(u64 seed, const std::string &why, choices &made)
{
	std::vector<u32> script = shrink(made.made(), why);
	choices c{ script };
	totals none{};

	printf("# seed %llu: %s\n", seed, why.c_str());
	printf("# after %zu choices; of %zu that are left:\n",
	       made.made().size(), script.size());
	run(c, none, true);
	printf("# again, whole: simulate -v %llu-%llu\n", seed, seed);
}

} // namespace simulation

using namespace simulation;

int main(int argc, char **argv)
{
	using clock = std::chrono::steady_clock;
	const char *range = "1-1000";
	u64 first, last, seconds = 0, seed, failed = 0, most = 1;
	bool verbose = false;
	totals sum{};
	char *end;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-s") && i + 1 < argc)
			seconds = strtoull(argv[++i], nullptr, 10);
		else if (!strcmp(argv[i], "-k") && i + 1 < argc)
			most = strtoull(argv[++i], nullptr, 10);
		else if (!strcmp(argv[i], "-v"))
			verbose = true;
		else
			range = argv[i];
	}
	first = strtoull(range, &end, 10);
	last = *end == '-' ? strtoull(end + 1, nullptr, 10) : first;

	const auto begin = clock::now();
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
		report(seed, why, c);
		if (++failed == most)
			break;
	}
	const double took = passed();

	printf("# %llu runs, %llu exchanges in %.1f s: %.0f a minute; %llu steps\n",
	       sum.runs, sum.exchanges, took,
	       static_cast<double>(sum.exchanges) * 60 / took, sum.steps);
	printf("# %llu connections (%llu of version 1), %llu lost; %llu RPCs killed, %llu refused, %llu failed, %llu timed out; %llu Replies pulled, %llu callbacks\n",
	       sum.connections, sum.version1, sum.losses, sum.killed,
	       sum.refused, sum.failed, sum.timed_out, sum.pulled,
	       sum.callbacks);
	printf("%s %llu-%llu\n", failed ? "not ok" : "ok", first, seed - 1);
	return failed ? 1 : 0;
}
