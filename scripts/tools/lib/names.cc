// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Names of header types, error codes and properties */
#include "internal.hh"

using namespace rpcrdma;

const char *rpcrdma2::name_err_v1(u32 code)
{
	switch (code) {
	case v1::ERR_VERS:
		return "ERR_VERS";
	case v1::ERR_CHUNK:
		return "ERR_CHUNK";
	default:
		return nullptr;
	}
}

const char *rpcrdma2_type_name(uint32_t version, uint32_t type)
{
	static constexpr const char *V1[] = { "RDMA_MSG", "RDMA_NOMSG",
					      "RDMA_MSGP", "RDMA_DONE",
					      "RDMA_ERROR" };
	static constexpr const char *V2[] = { "RDMA2_MSG",   "RDMA2_NOMSG",
					      nullptr,	     "RDMA2_DONE",
					      "RDMA2_ERROR", "RDMA2_CONNPROP" };

	if (version == RPCRDMA_VERS_1)
		return type < sizeof(V1) / sizeof(V1[0]) ? V1[type] : nullptr;
	return type < sizeof(V2) / sizeof(V2[0]) ? V2[type] : nullptr;
}

const char *rpcrdma2_code_name(uint32_t code)
{
	const error_info *info = find_error(code);

	return info ? info->name : nullptr;
}

const char *rpcrdma2_prop_name(uint32_t id)
{
	switch (id) {
	case RPCRDMA2_PROP_SBSIZ:
		return "Maximum Send Size";
	case RPCRDMA2_PROP_RBSIZ:
		return "Receive Buffer Size";
	case RPCRDMA2_PROP_RSSIZ:
		return "Maximum Segment Size";
	case RPCRDMA2_PROP_RCSIZ:
		return "Maximum Segment Count";
	case RPCRDMA2_PROP_BRS:
		return "Reverse-Direction Support";
	case RPCRDMA2_PROP_HOSTAUTH:
		return "Host Authentication";
	case RPCRDMA2_PROP_REPLY_READ:
		return "Reply Read";
	case RPCRDMA2_PROP_REASSEMBLY:
		return "Reassembly";
	default:
		return nullptr;
	}
}
