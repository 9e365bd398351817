/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Definitions that the library's sources share: the core's codec, and the public headers.
 * Their constants must equal those of the core.
 */
#ifndef RPCRDMA2_INTERNAL_HH
#define RPCRDMA2_INTERNAL_HH

#include <rpcrdma2/rpcrdma2.h>

#include "wire/codec.hh"
#include "wire/properties.hh"

static_assert(+RPCRDMA2_MSG == +RDMA2_MSG && +RPCRDMA2_NOMSG == +RDMA2_NOMSG &&
	      +RPCRDMA2_DONE == +RDMA2_DONE &&
	      +RPCRDMA2_ERROR == +RDMA2_ERROR &&
	      +RPCRDMA2_CONNPROP == +RDMA2_CONNPROP);
static_assert(+RPCRDMA2_MSG == +rpcrdma::v1::RDMA_MSG &&
	      +RPCRDMA2_NOMSG == +rpcrdma::v1::RDMA_NOMSG &&
	      +RPCRDMA2_MSGP == +rpcrdma::v1::RDMA_MSGP &&
	      +RPCRDMA2_DONE == +rpcrdma::v1::RDMA_DONE &&
	      +RPCRDMA2_ERROR == +rpcrdma::v1::RDMA_ERROR);
static_assert(+RPCRDMA2_RESPONSE == +RDMA2_F_RESPONSE &&
	      +RPCRDMA2_MORE == +RDMA2_F_MORE &&
	      +RPCRDMA2_TPMORE == +RDMA2_F_TPMORE);
static_assert(+RPCRDMA2_CODE_VERS == +RDMA2_ERR_VERS &&
	      +RPCRDMA2_CODE_BAD_XDR == +RDMA2_ERR_BAD_XDR &&
	      +RPCRDMA2_CODE_BAD_PROPVAL == +RDMA2_ERR_BAD_PROPVAL &&
	      +RPCRDMA2_CODE_INVAL_HTYPE == +RDMA2_ERR_INVAL_HTYPE &&
	      +RPCRDMA2_CODE_INVAL_CONT == +RDMA2_ERR_INVAL_CONT &&
	      +RPCRDMA2_CODE_READ_CHUNKS == +RDMA2_ERR_READ_CHUNKS &&
	      +RPCRDMA2_CODE_WRITE_CHUNKS == +RDMA2_ERR_WRITE_CHUNKS &&
	      +RPCRDMA2_CODE_SEGMENTS == +RDMA2_ERR_SEGMENTS &&
	      +RPCRDMA2_CODE_WRITE_RESOURCE == +RDMA2_ERR_WRITE_RESOURCE &&
	      +RPCRDMA2_CODE_REPLY_RESOURCE == +RDMA2_ERR_REPLY_RESOURCE &&
	      +RPCRDMA2_CODE_SYSTEM == +RDMA2_ERR_SYSTEM);
static_assert(RPCRDMA2_PROP_SBSIZ == +RDMA2_PROPID_SBSIZ &&
	      RPCRDMA2_PROP_RBSIZ == +RDMA2_PROPID_RBSIZ &&
	      RPCRDMA2_PROP_RSSIZ == +RDMA2_PROPID_RSSIZ &&
	      RPCRDMA2_PROP_RCSIZ == +RDMA2_PROPID_RCSIZ &&
	      RPCRDMA2_PROP_BRS == +RDMA2_PROPID_BRS &&
	      RPCRDMA2_PROP_HOSTAUTH == +RDMA2_PROPID_HOSTAUTH &&
	      RPCRDMA2_PROP_REPLY_READ == RDMA2_PROPID_REPLY_READ &&
	      RPCRDMA2_PROP_REASSEMBLY == RDMA2_PROPID_REASSEMBLY);
static_assert(+RPCRDMA2_REVERSE_NONE == +RDMA2_RVRSDIR_NONE &&
	      +RPCRDMA2_REVERSE_SIMPLE == +RDMA2_RVRSDIR_SIMPLE &&
	      +RPCRDMA2_REVERSE_CONT == +RDMA2_RVRSDIR_CONT &&
	      +RPCRDMA2_REVERSE_GENL == +RDMA2_RVRSDIR_GENL);
static_assert(+RPCRDMA2_REPLY_READ_PULL == +RDMA2_REPLY_READ_PULL &&
	      +RPCRDMA2_REPLY_READ_PROVIDE == +RDMA2_REPLY_READ_PROVIDE);
static_assert(+RPCRDMA2_CALL == +RPCRDMA_KIND_CALL &&
	      +RPCRDMA2_REPLY == +RPCRDMA_KIND_REPLY);
static_assert(+RPCRDMA2_PRIVATE_OCTETS == +RPCRDMA_PRIVATE_OCTETS);

static_assert(+RPCRDMA2_AUTH_NONE == +RPCRDMA_AUTH_NONE &&
	      +RPCRDMA2_AUTH_OFFER == +RPCRDMA_AUTH_OFFER &&
	      +RPCRDMA2_AUTH_REQUIRE == +RPCRDMA_AUTH_REQUIRE);
static_assert(+RPCRDMA2_AUTH_SHA256 == +RPCRDMA_AUTH_SHA256 &&
	      +RPCRDMA2_AUTH_SHA384 == +RPCRDMA_AUTH_SHA384 &&
	      +RPCRDMA2_AUTH_SHA512 == +RPCRDMA_AUTH_SHA512);
static_assert(RPCRDMA2_AUTH_NONCE_OCTETS == +RPCRDMA_AUTH_NONCE &&
	      RPCRDMA2_AUTH_MAX_PROOF == +RPCRDMA_AUTH_MAX_MAC &&
	      RPCRDMA2_AUTH_MAX_IDENTITY == +RPCRDMA_AUTH_MAX_IDENTITY &&
	      RPCRDMA2_AUTH_MIN_SECRET == +RPCRDMA_AUTH_MIN_SECRET);

namespace rpcrdma2
{

/* Lengths of messages are 32 bits. The bytes beyond that are not decoded. */
static inline u32 clamp_length(size_t length)
{
	return static_cast<u32>(length > ~u32{} ? ~u32{} : length);
}

/* Return the name of an error code of version 1, or null. */
const char *name_err_v1(u32 code);

} // namespace rpcrdma2

#endif /* RPCRDMA2_INTERNAL_HH */
