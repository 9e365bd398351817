// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Host authentication: the secret of this process, and HMACs by libcrypto */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <linux/keyctl.h>
#include <memory>
#include <sys/syscall.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "link.hh"

namespace ping
{

namespace
{

constexpr size_t MOST = 4096; /* bytes of a secret */

/* One for all identities: this program has one peer, or serves tests. */
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
		throw failure{ name + " is no secret: it is too long" };
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
		throw failure{ "there is no readable key user " + name +
			       ", and no --secret: " + strerror(errno) };
	all.resize(std::min(static_cast<size_t>(length), MOST));
	return all;
}

bool hmac(EVP_MAC_CTX *context, const rpcrdma2_auth_piece (&input)[3],
	  const char *digest, uint8_t (&proof)[RPCRDMA2_AUTH_MAX_PROOF],
	  size_t wanted)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST,
						 const_cast<char *>(digest), 0),
		OSSL_PARAM_construct_end(),
	};
	size_t length = 0;

	if (!EVP_MAC_init(context, secret.data(), secret.size(), params))
		return false;
	for (const rpcrdma2_auth_piece &piece : input) {
		if (!EVP_MAC_update(
			    context,
			    static_cast<const unsigned char *>(piece.data),
			    piece.length))
			return false;
	}
	return EVP_MAC_final(context, proof, &length, sizeof(proof)) &&
	       length == wanted;
}

} // namespace

void read_secret(const std::string &file, const std::string &identity)
{
	secret = file.empty() ? from_key(identity) : from_file(file);
	if (secret.size() < RPCRDMA2_AUTH_MIN_SECRET)
		throw failure{ "the secret has less than " +
			       std::to_string(RPCRDMA2_AUTH_MIN_SECRET) +
			       " bytes" };
}

int answer_auth(rpcrdma2_conn *, const rpcrdma2_auth_request *request,
		rpcrdma2_auth_answer *answer, void *)
{
	static const char *const digests[] = { nullptr, "SHA256", "SHA384",
					       "SHA512" };
	const std::unique_ptr<EVP_MAC, void (*)(EVP_MAC *)> mac{
		EVP_MAC_fetch(nullptr, "HMAC", nullptr), EVP_MAC_free
	};
	const std::unique_ptr<EVP_MAC_CTX, void (*)(EVP_MAC_CTX *)> context{
		EVP_MAC_CTX_new(mac.get()), EVP_MAC_CTX_free
	};

	if (secret.empty())
		return RPCRDMA2_AUTH_UNKNOWN;
	if (!request->hash)
		return RPCRDMA2_AUTH_FOUND;
	for (int end = 0; end < 2; end++) {
		if (!context || request->hash > RPCRDMA2_AUTH_SHA512 ||
		    !hmac(context.get(), request->input[end],
			  digests[request->hash], answer->proof[end],
			  request->proof_length))
			return RPCRDMA2_AUTH_UNAVAILABLE;
	}
	return RPCRDMA2_AUTH_FOUND;
}

} // namespace ping
