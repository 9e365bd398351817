// SPDX-License-Identifier: GPL-2.0
/*
 * Run the suites of a test module when it asks for that. In a kernel without KUnit the module
 * loader does not know the section that lists them, and struct module has no member for it.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/glob.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "run.h"

static char *suites = "*";
module_param(suites, charp, 0644);
MODULE_PARM_DESC(suites, "Globs of the names of the suites to run, separated by commas");

struct kunit *kunit_current_test;

/* Runs the suites of a struct kunit_module when it is loaded, and frees its copy of them when
 * it is unloaded.
 */
static struct notifier_block *notifier;

int suites_notifier(struct notifier_block *nb)
{
	notifier = nb;
	return 0;
}

/* Return 1 if a suite has a name that was asked for, 0 if not, or a negative errno. */
static int suites_match(const struct kunit_suite *suite)
{
	char *globs = kstrdup(suites, GFP_KERNEL);
	char *rest = globs, *glob;
	int match = 0;

	if (!globs)
		return -ENOMEM;
	while (!match && (glob = strsep(&rest, ",")))
		match = glob_match(glob, suite->name);
	kfree(globs);
	return match;
}

struct kunit_module *suites_run(const char *name, struct kunit_suite **from,
				struct kunit_suite **to)
{
	int count = to - from, chosen = 0, i, rc;
	struct kunit_module *mod;
	struct kunit_suite **copy;

	mod = kzalloc(sizeof(*mod) + count * sizeof(*copy), GFP_KERNEL);
	if (!mod)
		return ERR_PTR(-ENOMEM);
	copy = (struct kunit_suite **)(mod + 1);
	for (i = 0; i < count; i++) {
		rc = suites_match(from[i]);
		if (rc < 0) {
			kfree(mod);
			return ERR_PTR(rc);
		}
		if (rc)
			copy[chosen++] = from[i];
	}
	mod->kunit_suites = copy;
	mod->num_kunit_suites = chosen;
	pr_info("kunit: %d of %d suites of %s\n", chosen, count, name);
	/* As the loader does. Suites run in one of these states, which depends on the kernel. */
	notifier->notifier_call(notifier, MODULE_STATE_COMING, mod);
	notifier->notifier_call(notifier, MODULE_STATE_LIVE, mod);
	return mod;
}
EXPORT_SYMBOL_GPL(suites_run);

void suites_free(struct kunit_module *mod)
{
	notifier->notifier_call(notifier, MODULE_STATE_GOING, mod);
	kfree(mod);
}
EXPORT_SYMBOL_GPL(suites_free);
