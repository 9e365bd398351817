// SPDX-License-Identifier: GPL-2.0
/*
 * Write the seed corpora: for each target a few inputs that reach its corner
 * cases, from which the fuzzer continues. Run by "make corpus"; the result is
 * committed.
 */
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "support.hh"

using namespace engine_test;

namespace
{

std::filesystem::path root;

void write(const std::string &target, const std::string &name,
	   const octets &data)
{
	const auto folder = root / target;

	std::filesystem::create_directories(folder);
	std::ofstream(folder / name, std::ios::binary)
		.write(reinterpret_cast<const char *>(data.data()),
		       static_cast<std::streamsize>(data.size()));
}

/* A message for an end in the given state (see fuzz_messages.cc) */
void seed(const std::string &target, const std::string &name, uint8_t state,
	  const message &m)
{
	octets data{ state };

	data.insert(data.end(), m.data().begin(), m.data().end());
	write(target, name, data);
}

constexpr u32 XID = 7;
constexpr u32 MORE = RDMA2_F_MORE, RESP = RDMA2_F_RESPONSE;

message head(u32 htype, u32 flags, u32 xid = XID)
{
	return message().prefix(xid, htype, flags, 16, 1);
}

message &full_lists(message &m, bool reads, bool special)
{
	m.word(0x1001);
	if (special)
		m.read_segment(0, 0x1000, 4000).read_segment(0, 0x1001, 4000);
	if (reads)
		m.read_segment(16, 0x1002, 4095, 1ull << 40)
			.read_segment(4116, 0x1003, 5, ~0ull);
	m.word(0);
	m.word(1).word(2).segment(0x2000, 4096, 0).segment(0x2001, 100, 4096);
	m.word(1).word(0);
	m.word(0);
	return m.word(1).word(1).segment(0x3000, 65536, 0);
}

void msg_seeds()
{
	const std::string t = "msg";
	message m;

	for (uint8_t state : { 0, 1, 4, 5, 8, 9 }) {
		const u32 resp = state & 1 ? RESP : 0;
		const std::string s = std::to_string(state);

		seed(t, "plain-" + s, state,
		     head(RDMA2_MSG, resp).no_lists().rpc(XID, resp, 64));
		seed(t, "part-" + s, state,
		     head(RDMA2_MSG, resp | MORE).no_lists().rpc(XID, resp, 64));
		seed(t, "last-" + s, state,
		     head(RDMA2_MSG, resp).no_lists().fill(31));
		seed(t, "other-" + s, state,
		     head(RDMA2_MSG, resp, 8).no_lists().rpc(8, resp, 64));
	}
	m = head(RDMA2_MSG, 0);
	seed(t, "chunks", 0, full_lists(m, true, false).rpc(XID, CALL, 40));
	m = head(RDMA2_MSG, RESP);
	seed(t, "chunks-reply", 1,
	     full_lists(m, false, false).rpc(XID, REPLY, 40));
	m = head(RDMA2_MSG, MORE);
	seed(t, "chunks-part", 0,
	     full_lists(m, true, false).rpc(XID, CALL, 40));
	m = head(RDMA2_MSG, 0).word(0);
	for (u32 i = 0; i < 70; i++)
		m.read_segment(8 + 4 * i, i, 4);
	seed(t, "many-reads", 0, m.no_lists().rpc(XID, CALL, 40));
	seed(t, "lying-count", 0,
	     head(RDMA2_MSG, 0)
		     .word(0)
		     .word(0)
		     .word(1)
		     .word(~0u)
		     .segment(1, 2, 3));
	seed(t, "tpmore", 0,
	     head(RDMA2_MSG, RDMA2_F_TPMORE).no_lists().rpc(XID, CALL, 40));
	seed(t, "opening", 2, head(RDMA2_MSG, 0).no_lists().rpc(XID, CALL, 40));
	seed(t, "short", 0, head(RDMA2_MSG, 0).truncate(20));
	seed(t, "four-octets", 0,
	     head(RDMA2_MSG, MORE).no_lists().rpc(XID, CALL, 4));
	seed(t, "raw-version", 64,
	     head(RDMA2_MSG, 0).set(4, 1).no_lists().rpc(XID, CALL, 40));
}

void nomsg_seeds()
{
	const std::string t = "nomsg";
	message m = head(RDMA2_NOMSG, 0);

	seed(t, "call", 0, full_lists(m, true, true));
	m = head(RDMA2_NOMSG, RESP);
	seed(t, "reply", 1, full_lists(m, false, false));
	seed(t, "reply-pull", 1 | 16,
	     head(RDMA2_NOMSG, RESP)
		     .word(9)
		     .read_segment(0, 9, 3000)
		     .word(0)
		     .word(0)
		     .word(0));
	seed(t, "grant", 0, head(RDMA2_NOMSG, 0, 0).no_lists());
	seed(t, "grant-in-sequence", 4, head(RDMA2_NOMSG, 0, 0).no_lists());
	seed(t, "grant-opening", 2, head(RDMA2_NOMSG, 0, 0).no_lists());
	seed(t, "grant-more", 0, head(RDMA2_NOMSG, MORE, 0).no_lists());
	seed(t, "empty", 0, head(RDMA2_NOMSG, 0).no_lists());
	seed(t, "no-position-zero", 0,
	     head(RDMA2_NOMSG, 0)
		     .word(0)
		     .read_segment(8, 1, 100)
		     .word(0)
		     .word(0)
		     .word(0));
	m = head(RDMA2_NOMSG, 0);
	seed(t, "breaks", 4, full_lists(m, false, true));
	m = head(RDMA2_NOMSG, MORE);
	seed(t, "more", 0, full_lists(m, false, true));
	m = head(RDMA2_NOMSG, 0);
	seed(t, "small-limits", 8, full_lists(m, true, true));
	m = head(RDMA2_NOMSG, 0).word(0);
	for (u32 i = 0; i < 66; i++)
		m.read_segment(0, i, 100);
	seed(t, "many-segments", 0, m.word(0).word(0).word(0));
}

void control_seeds()
{
	seed("done", "plain", 0, head(RDMA2_DONE, 0));
	seed("done", "waiting", 16, head(RDMA2_DONE, 0));
	seed("done", "response", 0, head(RDMA2_DONE, RESP));
	seed("done", "more", 4, head(RDMA2_DONE, MORE));
	seed("done", "opening", 2, head(RDMA2_DONE, 0));
	seed("done", "short", 0, head(RDMA2_DONE, 0).truncate(23));
	seed("done", "trailing", 0, head(RDMA2_DONE, 0).fill(40));

	for (u32 code : { 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 100u })
		seed("error", "code-" + std::to_string(code), 1,
		     head(RDMA2_ERROR, RESP).word(code).word(1).word(2));
	seed("error", "no-args", 1, head(RDMA2_ERROR, RESP).word(9));
	seed("error", "no-code", 1, head(RDMA2_ERROR, RESP));
	seed("error", "no-response", 1, head(RDMA2_ERROR, 0).word(2));
	seed("error", "opening", 1 | 2, head(RDMA2_ERROR, RESP, 0).word(3));
	seed("error", "in-sequence", 1 | 4, head(RDMA2_ERROR, RESP).word(5));
	seed("error", "err-vers", 1 | 2 | 64,
	     message().word(0).word(2).word(16).word(4).word(1).word(1).word(
		     1));
	seed("error", "err-vers-open", 1 | 64,
	     message().word(0).word(2).word(16).word(4).word(1).word(1).word(
		     1));
}

void connprop_seeds()
{
	const std::string t = "connprop";
	auto prop = [](message &m, u32 id, u32 value) -> message & {
		return m.word(id).word(4).word(value);
	};
	message m = head(RDMA2_CONNPROP, 0, 0).word(7);

	for (u32 id : { 1u, 2u, 3u, 4u })
		prop(m, id, 65536);
	prop(prop(prop(m, 5, 3), 0xF0000001, 3), 0xF0000002, 9999);
	seed(t, "all", 2, m);
	seed(t, "all-client", 1 | 2, m);
	seed(t, "again", 0, m);
	m = head(RDMA2_CONNPROP, RDMA2_F_TPMORE, 0).word(1);
	seed(t, "tpmore", 2, prop(m, 1, 2000));
	m = head(RDMA2_CONNPROP, MORE, 0).word(1);
	seed(t, "more", 2, prop(m, 1, 2000));
	m = head(RDMA2_CONNPROP, 0, 0).word(1);
	seed(t, "bad-value", 2, prop(m, 1, 1023));
	m = head(RDMA2_CONNPROP, 0, 0).word(2).word(6).word(9).fill(12);
	seed(t, "hostauth", 2, prop(m, 5, 4));
	seed(t, "default", 2,
	     head(RDMA2_CONNPROP, 0, 0).word(1).word(2).word(0));
	seed(t, "lying-length", 2,
	     head(RDMA2_CONNPROP, 0, 0).word(1).word(2).word(~0u).fill(8));
	seed(t, "lying-count", 2,
	     head(RDMA2_CONNPROP, 0, 0).word(~0u).fill(24));
	seed(t, "empty", 2, head(RDMA2_CONNPROP, 0, 0).word(0));
	seed(t, "none", 2, head(RDMA2_CONNPROP, 0, 0));
	seed(t, "response", 2, head(RDMA2_CONNPROP, RESP, 0).word(0));
}

void connection_seeds()
{
	const std::string t = "connection";
	generator random{ 3 };

	/* Operations are in bits 1 to 4, the side in bit 0. */
	for (u32 windows : { 0x00u, 0x10u, 0x44u, 0xffu }) {
		for (u32 flavour = 0; flavour < 5; flavour++) {
			octets data{ static_cast<uint8_t>(windows),
				     static_cast<uint8_t>(random.next()),
				     static_cast<uint8_t>(
					     flavour == 4 ? random.next() :
							    0) };

			for (u32 i = 0; i < 150; i++) {
				const u32 side = random.below(2);
				u32 op = random.below(12);

				if (flavour == 0 && op > 2 && op < 8)
					op = 8;
				if (flavour < 3 && (op == 6 || op == 7))
					op = 9;
				if (op == 6 && random.chance(90))
					op = 8;
				data.push_back(
					static_cast<uint8_t>(op << 1 | side));
				if (op < 2) {
					/* kind, lengths */
					data.push_back(static_cast<uint8_t>(
						flavour == 1 ?
							random.below(64) :
							random.below(6)));
					data.push_back(0x40);
					data.push_back(0x80);
				} else if (op == 2 || op == 3 || op == 4) {
					data.push_back(static_cast<uint8_t>(
						random.below(2)));
				}
			}
			write(t,
			      "w" + std::to_string(windows) + "-" +
				      std::to_string(flavour),
			      data);
		}
	}
}

/* Operations and settings are those of fuzz_handshake.cc. */
void handshake_seeds()
{
	const std::string t = "handshake";
	constexpr uint8_t C = 0, S = 1, CHANGE = 1 << 1, TRUNCATE = 2 << 1,
			  TWICE = 3 << 1, REPLAY = 5 << 1, ANSWER = 6 << 1,
			  INJECT = 7 << 1;
	const octets all = { C, S, C, S, C };

	for (uint8_t settings : { 0, 1, 2, 3, 4, 6, 8, 9, 16, 19, 32, 35, 64,
				  128, 192, 195, 208, 224, 227 }) {
		octets data{ settings };

		data.insert(data.end(), all.begin(), all.end());
		write(t, "settings-" + std::to_string(settings), data);
	}
	for (uint8_t settings : { 0, 3, 192 }) {
		const std::string s = settings == 192 ? "-groups" :
				      settings	      ? "-required" :
							"";

		for (uint8_t n = 0; n < 5; n++) {
			const std::string at = std::to_string(n) + s;
			octets data{ settings }, twice, cut, again;

			data.insert(data.end(), all.begin(), all.begin() + n);
			twice = cut = again = data;
			data.push_back(CHANGE | all[n]);
			data.insert(data.end(), { 0, 120, 1 });
			write(t, "change-" + at, data);
			twice.push_back(TWICE | all[n]);
			write(t, "twice-" + at, twice);
			cut.push_back(TRUNCATE | all[n]);
			cut.push_back(2);
			write(t, "truncate-" + at, cut);
			again.insert(again.end(),
				     { REPLAY | C, 0, REPLAY | S, 0 });
			write(t, "replay-" + at, again);
		}
		write(t, "no-memory" + s, { settings, C, ANSWER | S, 3, S });
		write(t, "revoked" + s,
		      { settings, C, S, C, ANSWER | S, 2, S });
		write(t, "failure" + s,
		      { settings, C, INJECT | S, 0, 3, 0, 0, 0, 1, 0, 0, 0, 4,
			0, 0, 0, 1 });
	}
}

void private_seeds()
{
	const octets good = { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 255 };
	octets data = good;

	write("private", "good", data);
	data.resize(56);
	write("private", "padded", data);
	data.resize(7);
	write("private", "short", data);
	data = good;
	data[4] = 2;
	write("private", "version-2", data);
	data = good;
	data[0] = 0;
	write("private", "no-magic", data);
	write("private", "flags", { 0xf6, 0xab, 0x0e, 0x18, 1, 0xfe, 0, 0 });
}

/* See fuzz_v1.cc for the states. */
void v1_seeds()
{
	const std::string t = "v1";
	const auto v1 = [](u32 proc) {
		return message().word(XID).word(1).word(16).word(proc);
	};
	const auto plain = [&](u32 direction) {
		return v1(0).word(0).word(0).word(0).rpc(XID, direction, 64);
	};

	for (uint8_t state : { 0, 1, 2, 3, 5, 8, 9 }) {
		const std::string s = std::to_string(state);

		seed(t, "call-" + s, state, plain(0));
		seed(t, "reply-" + s, state, plain(1));
		seed(t, "chunk-" + s, state, v1(4).word(2));
		seed(t, "vers-" + s, state,
		     v1(4).word(1).word(1).word(1).set(4, 2));
	}
	seed(t, "reads", 0,
	     v1(0).read_segment(40, 5, 40)
		     .read_segment(16, 6, 8)
		     .read_segment(40, 7, 2)
		     .word(0)
		     .word(0)
		     .word(0)
		     .rpc(XID, 0, 64));
	seed(t, "long-call", 0,
	     v1(1).read_segment(120, 5, 40)
		     .read_segment(0, 6, 4000)
		     .word(0)
		     .word(0)
		     .word(1)
		     .word(1)
		     .segment(6, 65536, 0));
	for (uint8_t state : { 0, 1, 4 }) {
		const std::string s = std::to_string(state);

		seed(t, "writes-" + s, state,
		     v1(0).word(0)
			     .word(1)
			     .word(2)
			     .segment(9, 4096, 0)
			     .segment(9, 100, 0)
			     .word(1)
			     .word(0)
			     .word(0)
			     .word(0)
			     .rpc(XID, state & 1, 64));
	}
	seed(t, "long-reply", 1,
	     v1(1).word(0).word(0).word(1).word(1).segment(6, 9000, 0));
	/* More segments than struct rpcrdma_lists holds itself */
	for (uint8_t state : { 0, 2, 4, 16 }) {
		const std::string s = std::to_string(state);
		message reads = v1(0), writes = v1(0).word(0), all = v1(0);

		for (u32 i = 0; i < 150; i++)
			reads.read_segment(40 - i / 15 * 4, i, 4);
		seed(t, "many-reads-" + s, state,
		     reads.word(0).word(0).word(0).rpc(XID, 0, 64));
		writes.word(1).word(240);
		for (u32 i = 0; i < 240; i++)
			writes.segment(9, 4096, i * 4096);
		seed(t, "many-writes-" + s, state,
		     writes.word(0).word(0).rpc(XID, 0, 64));
		for (u32 i = 0; i < 64; i++)
			all.read_segment(40, i, 4);
		all.word(0).word(1).word(100);
		for (u32 i = 0; i < 100; i++)
			all.segment(i, 2048, i);
		all.word(0).word(1).word(100);
		for (u32 i = 0; i < 100; i++)
			all.segment(i, 1024, i);
		seed(t, "many-" + s, state, all.rpc(XID, 0, 64));
		seed(t, "too-many-" + s, state,
		     all.set(16 + 64 * 24 + 12 + 100 * 16 + 8, 101));
	}
	seed(t, "msgp", 0, v1(2).fill(40, 0));
	seed(t, "done", 0, v1(3).fill(40, 0));
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s folder\n", argv[0]);
		return 1;
	}
	root = argv[1];
	msg_seeds();
	nomsg_seeds();
	control_seeds();
	connprop_seeds();
	connection_seeds();
	handshake_seeds();
	private_seeds();
	v1_seeds();
	return 0;
}
