// SPDX-License-Identifier: GPL-2.0
/*
 * Replay the corpora of the fuzzers, one test for each file. ENGINE_CORPUS is
 * their folder.
 */
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "fuzz/fuzz_targets.hh"
#include "support.hh"

using namespace engine_test;

namespace
{

struct target {
	const char *name;
	int (*run)(const uint8_t *, size_t);
};

const target targets[] = {
	{ "msg", fuzz_msg },
	{ "nomsg", fuzz_nomsg },
	{ "done", fuzz_done },
	{ "error", fuzz_error },
	{ "connprop", fuzz_connprop },
	{ "connection", fuzz_connection },
	{ "private", fuzz_private },
	{ "v1", fuzz_v1 },
	{ "handshake", fuzz_handshake },
};

struct replay {
	const target *to;
	std::filesystem::path file;
};

std::filesystem::path corpus()
{
	const char *folder = getenv("ENGINE_CORPUS");

	return folder ? folder : "fuzz/corpus";
}

std::vector<replay> all_files()
{
	std::vector<replay> all;

	for (const target &t : targets) {
		std::error_code error;
		std::vector<std::filesystem::path> files;

		for (const auto &entry : std::filesystem::directory_iterator(
			     corpus() / t.name, error))
			files.push_back(entry.path());
		std::sort(files.begin(), files.end());
		for (const auto &file : files)
			all.push_back({ &t, file });
	}
	return all;
}

std::string replay_name(const testing::TestParamInfo<replay> &info)
{
	std::string name = std::string(info.param.to->name) + "_" +
			   info.param.file.filename().string();

	for (char &c : name) {
		if (!isalnum(static_cast<unsigned char>(c)))
			c = '_';
	}
	return name;
}

class Corpus : public testing::TestWithParam<replay>
{
};

TEST_P(Corpus, Replay)
{
	std::ifstream in(GetParam().file, std::ios::binary);
	const octets data{ std::istreambuf_iterator<char>(in), {} };

	ASSERT_TRUE(in.good() || in.eof());
	EXPECT_EQ(GetParam().to->run(data.data(), data.size()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(all_files()),
			 replay_name);

TEST(Corpora, AreThere)
{
	for (const target &t : targets)
		EXPECT_TRUE(std::filesystem::exists(corpus() / t.name))
			<< t.name;
}

} // namespace
