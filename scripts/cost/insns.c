// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin for QEMU's TCG (plugin interface of version 1, QEMU 7.2): counts the
 * executions of each translation block of the guest between two marks.
 *
 *   qemu-system-x86_64 ... -plugin insns.so,out=FILE
 *
 * A mark is a no-operation of seven bytes that no compiler emits, see
 * scripts/guest/mark.h: the first kind resets all counts, the second writes them to
 * FILE.0, FILE.1 and so on, one line for each block:
 *
 *   <address, hexadecimal> <instructions in the block> <times executed>
 *
 * Debian has no package with qemu-plugin.h, so the interface is declared here. The guest
 * must have one virtual processor, because counts are not atomic.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*tb_translated)(plugin_id id, struct qemu_plugin_tb *tb);
typedef void (*executed)(unsigned int cpu, void *data);

enum { PLUGIN_NO_REGISTERS = 0, PLUGIN_ADD_U64 = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, tb_translated call);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
						     void *counter, uint64_t value);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
						   executed call, int flags, void *data);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
							size_t i);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;

/*
 * nopl <mark>(%rax): the displacement's first byte is the kind, the others identify a
 * mark.
 */
enum { MARK_SIZE = 7, MARK_KIND = 3, MARK_BEGIN = 1, MARK_END = 2 };
static const unsigned char mark_code[] = { 0x0f, 0x1f, 0x80 };
static const unsigned char mark_tail[] = { 0x7d, 0x5c, 0x3a };

/* A block is identified by its address and length, because code can be translated again. */
struct block {
	struct block *next;
	uint64_t address, insns, count;
};

enum { BUCKETS = 1 << 17 };
static struct block *blocks[BUCKETS];
static const char *out = "insns.out";

static struct block *block_at(uint64_t address, uint64_t insns)
{
	struct block **bucket = &blocks[(address ^ address >> 17 ^ insns << 9) % BUCKETS];
	struct block *b;

	for (b = *bucket; b; b = b->next)
		if (b->address == address && b->insns == insns)
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->address = address;
	b->insns = insns;
	b->next = *bucket;
	*bucket = b;
	return b;
}

static void for_all(void (*what)(struct block *b, FILE *f), FILE *f)
{
	struct block *b;
	size_t i;

	for (i = 0; i < BUCKETS; i++)
		for (b = blocks[i]; b; b = b->next)
			what(b, f);
}

static void forget(struct block *b, FILE *f)
{
	(void)f;
	b->count = 0;
}

static void print(struct block *b, FILE *f)
{
	if (b->count)
		fprintf(f, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", b->address, b->insns,
			b->count);
}

static void begun(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	for_all(forget, NULL);
}

static void ended(unsigned int cpu, void *data)
{
	static unsigned int nr;
	char name[4096];
	FILE *f;

	(void)cpu;
	(void)data;
	snprintf(name, sizeof(name), "%s.%u", out, nr++);
	f = fopen(name, "w");
	if (!f) {
		perror(name);
		return;
	}
	for_all(print, f);
	fclose(f);
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, PLUGIN_ADD_U64,
						 &block_at(qemu_plugin_tb_vaddr(tb), n)->count, 1);
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const unsigned char *code = qemu_plugin_insn_data(insn);

		if (qemu_plugin_insn_size(insn) != MARK_SIZE ||
		    memcmp(code, mark_code, sizeof(mark_code)) ||
		    memcmp(code + MARK_KIND + 1, mark_tail, sizeof(mark_tail)))
			continue;
		qemu_plugin_register_vcpu_insn_exec_cb(insn, code[MARK_KIND] == MARK_BEGIN ? begun : ended,
						       PLUGIN_NO_REGISTERS, NULL);
	}
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
