// SPDX-License-Identifier: GPL-2.0
/*
 * Windows of all sizes: the engine against an end that follows section 3 of the
 * wire profile literally, against itself, and two such ends against each other.
 * After any traffic, when no message is in flight any more
 *
 *  - no Reply, ERROR or DONE waits, nor a part of a Reply,
 *  - a Call or a part of one waits only if its receiver holds all Receives that
 *    Calls may use,
 *  - and credit grants did not answer each other for long.
 *
 * Under a sanitizer only a sample of the windows is tried; the same tests are
 * built without one to try them all.
 */
#include "windows.hh"

using namespace engine_test;
using namespace engine_test::meetings;

namespace
{

/* ---- The combinations of ends ---- */

struct meeting {
	bool engines[2]; /* client, server */
};

std::string meeting_name(const testing::TestParamInfo<meeting> &info)
{
	const char *const names[] = { "Model", "Engine" };

	return std::string(names[info.param.engines[0]]) + "And" +
	       names[info.param.engines[1]];
}

class Windows : public testing::TestWithParam<meeting>
{
protected:
	std::unique_ptr<table> connected(u32 client, u32 server, u64 seed = 1)
	{
		bool engines[2] = { GetParam().engines[0],
				    GetParam().engines[1] };
		const u32 windows[2] = { client, server };
		auto t = std::make_unique<table>(engines, windows, seed);

		EXPECT_TRUE(t->open()) << t->complaint();
		return t;
	}
};

constexpr order ORDERS[] = { order::BY_TURNS, order::ALL_OF_ONE_SIDE,
			     order::CROSSING, order::AT_RANDOM };

/*
 * The peer holds Calls, so that it grants few credits at a time. A continued
 * message longer than the window must get through nevertheless, and so must a
 * plain Call that takes the last Receive available for one.
 */
TEST_P(Windows, ContinuedCallWhileOthersAreHeld)
{
	for (side s : { CLIENT, SERVER }) {
		const side peer = s == CLIENT ? SERVER : CLIENT;

		for (u32 window : windows()) {
			for (u32 held = 0; held + 3 <= window; held++) {
				/*
				 * All of some windows, the boundaries of others
				 */
				if (window > 20 && window != 64 && held > 1 &&
				    held + 5 < window && held + 2 != window / 2)
					continue;
				auto t = s == CLIENT ? connected(32, window) :
						       connected(window, 32);
				const order how = ORDERS[held % 4];

				for (u32 i = 0; i < held; i++)
					t->call(s);
				t->settle(how);
				ASSERT_EQ(t->held(peer), held);
				/* A continued Call of 240,000 bytes */
				t->call(s, 60, SAMPLE ? 4000 : 8);
				t->settle(how);
				ASSERT_EQ(t->complaint(), "")
					<< window << " " << held;
				ASSERT_EQ(t->held(peer), held + 1);
				/*
				 * A continued Reply of the same length, while
				 * all those Calls are held
				 */
				t->answer(peer, held, 60, SAMPLE ? 4000 : 8);
				t->settle(how);
				ASSERT_EQ(t->complaint(), "")
					<< window << " " << held;
				/*
				 * Fill all Receives that Calls may use, and no
				 * more.
				 */
				for (u32 i = held; i < window - 1; i++) {
					t->call(s);
					t->settle(how);
				}
				ASSERT_EQ(t->complaint(), "")
					<< window << " " << held;
				ASSERT_EQ(t->held(peer), window - 2);
				ASSERT_TRUE(t->waits(s));
			}
		}
	}
}

/*
 * A chain as a recalled delegation causes: a Call is answered only after a
 * reverse Call, answered or not, and after another Call.
 */
TEST_P(Windows, ChainOfARecall)
{
	for (u32 client : windows()) {
		for (u32 server : windows()) {
			if (client > 16 && server > 16)
				continue;
			/*
			 * With large windows, other traffic has little effect.
			 */
			const u32 variants = client > 16 || server > 16 ? 8 :
									  32;

			for (u32 variant = 0; variant < variants; variant++) {
				const order how = ORDERS[variant % 4];
				const u32 noise = variant / 8 * 3;
				const bool answered = variant & 4;
				auto t = connected(client, server, variant + 1);

				/* Bring the windows into some other state. */
				for (u32 i = 0; i < noise; i++) {
					t->call(i & 1 ? SERVER : CLIENT);
					t->settle(how);
					t->answer(i & 1 ? CLIENT : SERVER);
					if (i & 2)
						t->settle(how);
				}
				t->settle(how);

				t->call(CLIENT); /* OPEN */
				t->settle(how);
				t->call(SERVER); /* CB_RECALL */
				t->settle(how);
				ASSERT_EQ(t->held(CLIENT), 1u);
				if (answered)
					t->answer(CLIENT);
				t->settle(how);
				for (u32 i = 0; i < 4; i++) {
					t->call(CLIENT); /* DELEGRETURN */
					t->settle(how);
					ASSERT_EQ(t->held(SERVER), 2u)
						<< client << " " << server
						<< " " << variant << " "
						<< t->complaint();
					t->answer(SERVER, 1);
					t->settle(how);
				}
				t->answer(CLIENT);
				t->answer(SERVER);
				t->settle(how);
				ASSERT_EQ(t->complaint(), "")
					<< client << " " << server << " "
					<< variant;
				ASSERT_EQ(t->outstanding(CLIENT), 0u);
				ASSERT_EQ(t->outstanding(SERVER), 0u);
			}
		}
	}
}

/* Let a random event happen at the end @s. */
void happen(table &t, side s)
{
	generator &random = t.random();
	const u32 index = random.below(t.held(s));

	switch (random.below(10)) {
	case 0:
	case 1:
		if (t.outstanding(s) < 200)
			t.call(s);
		break;
	case 2:
		if (t.outstanding(s) < 200)
			t.call(s, 2 + random.below(8));
		break;
	case 3:
		t.answer(s, index);
		break;
	case 4:
		t.answer(s, index, 2 + random.below(8));
		break;
	case 5:
		t.refuse(s, index);
		break;
	case 6:
		t.drop(s, index);
		break;
	case 7:
	case 8:
		t.done(s);
		break;
	default:
		t.adapt(s);
		break;
	}
}

/*
 * Random events, mostly while only a few Receives are left for Calls: continued
 * Calls and Replies in both directions; Calls answered, refused, dropped and
 * held; DONEs; windows that grow and shrink
 */
TEST_P(Windows, RandomEvents)
{
	u64 seed = 1;

	for (u32 client : windows()) {
		for (u32 server : windows()) {
			const u32 size[2] = { client, server };
			auto t = connected(client, server, seed++);
			generator &random = t->random();

			/* Use the windows up to a few credits. */
			for (side s : { CLIENT, SERVER }) {
				const u32 left = 2 + random.below(4);

				if (random.chance(20))
					continue;
				for (u32 i = left; i < size[!s]; i++)
					t->call(s);
			}
			for (u32 i = 0; i < 60; i++) {
				const order how = ORDERS[random.below(4)];

				happen(*t, random.chance(50) ? CLIENT : SERVER);
				if (random.chance(40))
					t->settle(how);
				else if (random.chance(60))
					t->step(how);
			}
			t->settle(order::BY_TURNS);
			ASSERT_EQ(t->complaint(), "")
				<< client << " " << server << " " << seed - 1;
			while (t->answer(CLIENT) || t->answer(SERVER))
				t->settle(order::AT_RANDOM);
			ASSERT_EQ(t->complaint(), "")
				<< client << " " << server << " " << seed - 1;
			ASSERT_EQ(t->outstanding(CLIENT), 0u);
			ASSERT_EQ(t->outstanding(SERVER), 0u);
		}
	}
}

INSTANTIATE_TEST_SUITE_P(All, Windows,
			 testing::Values(meeting{ { true, true } },
					 meeting{ { true, false } },
					 meeting{ { false, true } },
					 meeting{ { false, false } }),
			 meeting_name);

} // namespace
