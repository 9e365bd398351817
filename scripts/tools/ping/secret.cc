// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Host authentication: the secret of this process; HMACs and Diffie-Hellman by libcrypto */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <linux/keyctl.h>
#include <memory>
#include <sys/syscall.h>
#include <unistd.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "link.hh"

namespace ping
{

namespace
{

constexpr size_t MOST = 4096; /* bytes of a secret */

/* One secret for all identities, because this program has one peer or serves tests. */
std::vector<unsigned char> secret;

std::vector<unsigned char> from_file(const std::string &name)
{
	const std::unique_ptr<FILE, int (*)(FILE *)> file{
		fopen(name.c_str(), "rb"), fclose
	};
	std::vector<unsigned char> all(MOST + 1);

	if (!file)
		throw failure{ name + ": " + strerror(errno) };
	all.resize(fread(all.data(), 1, all.size(), file.get()));
	if (all.size() > MOST)
		throw failure{ name + " is too long for a secret" };
	return all;
}

/* The module uses keys of the type "logon", which no program can read. */
std::vector<unsigned char> from_key(const std::string &identity)
{
	const std::string name = "rpcrdma:" + identity;
	const long key =
		syscall(SYS_request_key, "user", name.c_str(), nullptr, 0);
	std::vector<unsigned char> all(MOST);
	const long length = key < 0 ? key :
				      syscall(SYS_keyctl, KEYCTL_READ, key,
					      all.data(), all.size());

	if (length < 0)
		throw failure{ "no --secret, and no readable key of type user " +
			       name + ": " + strerror(errno) };
	all.resize(std::min(static_cast<size_t>(length), MOST));
	return all;
}

using number = std::unique_ptr<BIGNUM, void (*)(BIGNUM *)>;

/* Return the big-endian number of @length bytes, or null without memory. */
number number_of(const uint8_t *bytes, uint32_t length)
{
	return { BN_bin2bn(bytes, static_cast<int>(length), nullptr),
		 BN_clear_free };
}

/* An HMAC: its hash function, and its input in addition to the ranges of a request */
struct hmac_of {
	const char *digest;
	const rpcrdma2_auth_dh &dh;
	const std::vector<uint8_t> &shared;
};

bool hmac(EVP_MAC_CTX *context, const hmac_of &of,
	  const rpcrdma2_auth_range (&input)[3],
	  uint8_t (&proof)[RPCRDMA2_AUTH_MAX_PROOF], size_t wanted)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST,
						 const_cast<char *>(of.digest),
						 0),
		OSSL_PARAM_construct_end(),
	};
	size_t length = 0;

	if (!EVP_MAC_init(context, secret.data(), secret.size(), params))
		return false;
	for (const rpcrdma2_auth_range &range : input) {
		if (!EVP_MAC_update(
			    context,
			    static_cast<const unsigned char *>(range.data),
			    range.length))
			return false;
	}
	if (!of.shared.empty() &&
	    (!EVP_MAC_update(context, of.dh.client_public, of.dh.length) ||
	     !EVP_MAC_update(context, of.shared.data(), of.shared.size())))
		return false;
	return EVP_MAC_final(context, proof, &length, sizeof(proof)) &&
	       length == wanted;
}

bool proofs(const rpcrdma2_auth_request &request,
	    const std::vector<uint8_t> &shared, rpcrdma2_auth_answer &answer)
{
	static const char *const digests[] = { nullptr, "SHA256", "SHA384",
					       "SHA512" };
	const std::unique_ptr<EVP_MAC, void (*)(EVP_MAC *)> mac{
		EVP_MAC_fetch(nullptr, "HMAC", nullptr), EVP_MAC_free
	};
	/* Without a provider there is no HMAC. */
	const std::unique_ptr<EVP_MAC_CTX, void (*)(EVP_MAC_CTX *)> context{
		mac ? EVP_MAC_CTX_new(mac.get()) : nullptr, EVP_MAC_CTX_free
	};

	if (!context || request.hash > RPCRDMA2_AUTH_SHA512)
		return false;

	const hmac_of of{ digests[request.hash], request.dh, shared };

	for (int end = 0; end < 2; end++)
		if (!hmac(context.get(), of, request.input[end],
			  answer.proof[end], request.proof_length))
			return false;
	return true;
}

} // namespace

void read_secret(const std::string &file, const std::string &identity)
{
	secret = file.empty() ? from_key(identity) : from_file(file);
	if (secret.size() < RPCRDMA2_AUTH_MIN_SECRET)
		throw failure{ "the secret has fewer than " +
			       std::to_string(RPCRDMA2_AUTH_MIN_SECRET) +
			       " bytes" };
}

/* A random exponent in a group */
class authenticator::private_value
{
public:
	explicit private_value(const rpcrdma2_auth_dh &dh)
	{
		std::vector<uint8_t> random(dh.private_length);

		if (RAND_priv_bytes(random.data(),
				    static_cast<int>(random.size())) == 1)
			exponent_ = number_of(random.data(), dh.private_length);
		OPENSSL_cleanse(random.data(), random.size());
	}

	/* Raise @base to it, modulo the prime of @dh. Return false without memory. */
	bool power(const rpcrdma2_auth_dh &dh, number base,
		   uint8_t *result) const
	{
		const number prime = number_of(dh.prime, dh.length);
		const number value{ BN_new(), BN_clear_free };
		const std::unique_ptr<BN_CTX, void (*)(BN_CTX *)> context{
			BN_CTX_new(), BN_CTX_free
		};
		const int length = static_cast<int>(dh.length);

		return exponent_ && base && prime && value && context &&
		       BN_mod_exp_mont_consttime(value.get(), base.get(),
						 exponent_.get(), prime.get(),
						 context.get(), nullptr) &&
		       BN_bn2binpad(value.get(), result, length) == length;
	}

private:
	number exponent_{ nullptr, BN_clear_free };
};

authenticator::authenticator() = default;
authenticator::~authenticator() = default;

int authenticator::answer(const rpcrdma2_auth_request &request,
			  rpcrdma2_auth_answer &answer)
{
	const rpcrdma2_auth_dh &dh = request.dh;
	std::vector<uint8_t> shared;
	bool good = true;

	if (secret.empty())
		return RPCRDMA2_AUTH_UNKNOWN;
	if (dh.group && !dh.peer_public) {
		const uint8_t generator = 2;

		private_ = std::make_unique<private_value>(dh);
		good = private_->power(dh, number_of(&generator, 1),
				       answer.public_value);
	} else if (dh.group) {
		shared.resize(dh.length);
		good = private_ &&
		       private_->power(dh, number_of(dh.peer_public, dh.length),
				       shared.data());
		private_.reset();
	}
	if (good && request.hash)
		good = proofs(request, shared, answer);
	OPENSSL_cleanse(shared.data(), shared.size());
	return good ? RPCRDMA2_AUTH_FOUND : RPCRDMA2_AUTH_UNAVAILABLE;
}

} // namespace ping
