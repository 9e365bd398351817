/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The reference credit model: the credits of an end that follows section 3 of
 * the wire profile literally. It permits exactly the messages and the owed
 * credit grants of that section. It was written from that section and contains
 * no part of the engine.
 */
#ifndef ENGINE_TEST_CREDIT_MODEL_HH
#define ENGINE_TEST_CREDIT_MODEL_HH

#include <algorithm>
#include <cstdint>

#include <rpcrdma/engine.h>

namespace engine_test
{

class credit_model
{
public:
	/* The credit fields of a header */
	struct fields {
		u32 credit, received;
	};

	explicit credit_model(u32 window, bool keeps = true)
		: window_{ window }, keeps_{ keeps }
	{
	}

	/*
	 * Process a received message. The Receive of a complete Call may be
	 * held; any other Receive is released at once. Return the number of
	 * Receives posted now, namely those that may no longer be withheld.
	 */
	u32 receive(fields said, bool grant, bool call)
	{
		const number credit = std::min(said.credit, 65535u);
		const number received = said.received;

		received_++;
		if (!grant)
			others_ = true;
		counted_ = std::max(counted_, received);
		limit_ = std::max(limit_, received + credit);

		const u32 posts = post_kept();

		if (call)
			owed_ = rule();
		else
			replacing_ = grant ? replacing::GRANT :
					     replacing::OTHER;
		return posts;
	}

	/*
	 * Release a Receive. Return the number of Receives posted now. Receives
	 * that may be withheld are withheld, those beyond the window
	 * permanently.
	 */
	u32 release_receive()
	{
		if (there_ > window_ + 1 && could() >= least()) {
			there_--;
			return looked(0);
		}
		kept_++;
		return looked(keeps_ ? post_kept() : post_all());
	}

	/* Set another window. Return the number of Receives posted for it. */
	u32 resize(u32 window)
	{
		window_ = window;
		if (there_ > window_)
			return looked(post_kept());
		kept_ += window_ + 1 - there_;
		there_ = window_ + 1;
		others_ = true;
		return looked(post_all());
	}

	u32 window() const
	{
		return static_cast<u32>(window_);
	}

	/*
	 * Return true if a Reply, a fragment of one, or a message that is neither
	 * an RPC message nor a credit grant can be sent.
	 */
	bool may_send() const
	{
		return sent_ < limit_;
	}

	/* Return true if a Call, or a fragment of one, can be sent. */
	bool may_call() const
	{
		return may_send() &&
		       (limit_ - sent_ > 2 ||
			(last_other_ <= counted_ && limit_ - counted_ > 2));
	}

	bool grant_due() const
	{
		return owed_ && replacing_ == replacing::NOTHING &&
		       sent_ <= limit_;
	}

	/* Send a message, which conveys the credit grant that is owed. */
	fields send(bool grant)
	{
		const number credit = could();

		sent_++;
		if (!grant)
			last_other_ = sent_;
		advertised_ = received_ + credit;
		owed_ = false;
		others_ = false;
		/*
		 * This header counts a credit grant, and the Receive of that
		 * grant was not replaced.
		 */
		if (replacing_ == replacing::GRANT)
			replacing_ = replacing::OTHER;
		return { static_cast<u32>(credit),
			 static_cast<u32>(received_) };
	}

private:
	using number = int64_t;

	number could() const
	{
		return std::min<number>(posted_ - 1 - received_, 65535);
	}

	/*
	 * Return the number of posted Receives above which others may be
	 * withheld.
	 */
	number least() const
	{
		return std::max<number>(4, window_ / 4);
	}

	u32 post_all()
	{
		const number posts = kept_;

		posted_ += posts;
		kept_ = 0;
		return static_cast<u32>(posts);
	}

	u32 post_kept()
	{
		return could() < least() ? post_all() : 0;
	}

	u32 looked(u32 posts)
	{
		if (replacing_ != replacing::GRANT)
			others_ = true;
		replacing_ = replacing::NOTHING;
		owed_ = rule();
		return posts;
	}

	bool rule() const
	{
		const number left = advertised_ - received_;
		const number rise = could() - left;

		if (rise < 1)
			return false;
		if (others_)
			return rise >= window_ / 2 || left <= 2;
		/*
		 * Only credit grants were received. They are answered in three
		 * cases.
		 */
		if (left > 2)
			return false;
		if (left <= 0)
			return true;
		if (could() >= 4)
			return true;
		return could() == 3 && limit_ - sent_ >= 4;
	}

	number window_;
	const bool keeps_;	      /* withhold Receives if permitted */
	number there_ = 0, kept_ = 0; /* Receives */
	number posted_ = 0, received_ = 0, sent_ = 0;
	number limit_ = 1, counted_ = 0, advertised_ = 1;
	number last_other_ = 0;
	bool others_ = false;
	bool owed_ = false;
	enum class replacing {
		NOTHING,
		GRANT,
		OTHER
	} replacing_{};
};

} // namespace engine_test

#endif /* ENGINE_TEST_CREDIT_MODEL_HH */
