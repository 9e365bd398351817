// SPDX-License-Identifier: GPL-2.0
/* libFuzzer's entry point for the target named on the command line */
#include "fuzz/fuzz_targets.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return FUZZ_TARGET(data, size);
}
