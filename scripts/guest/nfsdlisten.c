// SPDX-License-Identifier: GPL-2.0
/*
 * Set nfsd's only listener, as nfsdctl of newer nfs-utils does: RDMA, bound to one
 * address. nfsd must have no threads.
 *
 *   nfsdlisten ADDRESS PORT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* linux/nfsd_netlink.h, which headers of Linux 6.1 do not have */
enum { NFSD_CMD_LISTENER_SET = 6 };
enum { NFSD_A_SERVER_SOCK_ADDR = 1, NFSD_A_SOCK_ADDR = 1, NFSD_A_SOCK_TRANSPORT_NAME = 2 };

struct message {
	struct nlmsghdr nl;
	struct genlmsghdr genl;
	unsigned char attrs[1024];
};

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "nfsdlisten: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Append an attribute to @m and return it. */
static struct nlattr *attr(struct message *m, int type, const void *data, size_t len)
{
	struct nlattr *a = (void *)((char *)m + NLMSG_ALIGN(m->nl.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	m->nl.nlmsg_len = NLMSG_ALIGN(m->nl.nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

static void begin(struct message *m, int type, int cmd)
{
	memset(m, 0, sizeof(*m));
	m->nl.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	m->nl.nlmsg_type = type;
	m->nl.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	m->genl.cmd = cmd;
	m->genl.version = 1;
}

/* Send @m and receive the first answer into it, which may be an error. */
static void ask(int fd, struct message *m, const char *what)
{
	const struct nlmsgerr *error = NLMSG_DATA(&m->nl);

	if (send(fd, m, m->nl.nlmsg_len, 0) < 0 || recv(fd, m, sizeof(*m), 0) < 0)
		fail(what);
	if (m->nl.nlmsg_type != NLMSG_ERROR || !error->error)
		return;
	errno = -error->error;
	fail(what);
}

int main(int argc, char **argv)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), family = 0;
	struct sockaddr_storage addr = { 0 };
	struct sockaddr_in6 *in6 = (void *)&addr;
	struct sockaddr_in *in = (void *)&addr;
	struct nlattr *a, *nest;
	struct message m;
	char *at;

	if (argc != 3 || fd < 0)
		fail("nfsdlisten ADDRESS PORT");
	if (inet_pton(AF_INET, argv[1], &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(atoi(argv[2]));
	} else if (inet_pton(AF_INET6, argv[1], &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(atoi(argv[2]));
	} else {
		fail(argv[1]);
	}
	begin(&m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	attr(&m, CTRL_ATTR_FAMILY_NAME, "nfsd", sizeof("nfsd"));
	ask(fd, &m, "the family nfsd");
	for (at = (char *)m.attrs; at < (char *)&m + m.nl.nlmsg_len; at += NLA_ALIGN(a->nla_len)) {
		a = (void *)at;
		if (a->nla_len < NLA_HDRLEN)
			break;
		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			family = *(uint16_t *)(at + NLA_HDRLEN);
	}
	/* The acknowledgement of the request */
	if (!family || recv(fd, &m, sizeof(m), 0) < 0)
		fail("the family nfsd");
	begin(&m, family, NFSD_CMD_LISTENER_SET);
	nest = attr(&m, NFSD_A_SERVER_SOCK_ADDR | NLA_F_NESTED, NULL, 0);
	attr(&m, NFSD_A_SOCK_ADDR, &addr, sizeof(addr));
	attr(&m, NFSD_A_SOCK_TRANSPORT_NAME, "rdma", sizeof("rdma"));
	nest->nla_len = (char *)&m + m.nl.nlmsg_len - (char *)nest;
	ask(fd, &m, "the listener");
	return 0;
}
