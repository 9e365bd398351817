// SPDX-License-Identifier: GPL-2.0
/*
 * The pages of a service thread. With rq_pages_nfree, the Call and the Reply have an array
 * each, and sunrpc refills rq_pages_nfree entries. With rq_page_end, they share one array,
 * and sunrpc refills each entry that is NULL.
 *
 * Forms: HAVE_RQ_PAGES_NFREE HAVE_RQ_PAGE_END
 */
#include <linux/sunrpc/svc.h>

void probe(struct svc_rqst *rqstp);

void probe(struct svc_rqst *rqstp)
{
	struct page **respages = rqstp->rq_respages;

#ifdef HAVE_RQ_PAGES_NFREE
	rqstp->rq_pages_nfree = rqstp->rq_maxpages;
#else
	long nr = rqstp->rq_page_end - rqstp->rq_pages;

	rqstp->rq_respages = &rqstp->rq_pages[nr];
#endif
	rqstp->rq_next_page = respages;
}
