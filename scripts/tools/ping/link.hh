/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A connection of librpcrdma2 on a queue pair: Receives, Sends and events. It has no
 * memory that a peer could access, and so no chunks.
 */
#ifndef PING_LINK_HH
#define PING_LINK_HH

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rdma/rdma_cma.h>
#include <rpcrdma2/rpcrdma2.h>

namespace ping
{

/* Nanoseconds of a monotonic clock */
uint64_t now();

/* The properties that this end announces */
struct settings {
	uint32_t version_low = 1, version_high = 2;
	uint32_t window = 32;
	uint32_t inline_size = 4096;
	uint64_t timeout = 5000000000; /* nanoseconds, to open */
	/* For host authentication, which is required if it is not empty */
	std::string identity;
};

/*
 * Read this process' secret from that file, or from the key "rpcrdma:IDENTITY" if the
 * name is empty. Throws a failure.
 */
void read_secret(const std::string &file, const std::string &identity);

/* The answers of one connection to the requests of host authentication */
class authenticator
{
public:
	authenticator();
	authenticator(const authenticator &) = delete;
	authenticator &operator=(const authenticator &) = delete;
	~authenticator();

	/* Return one of enum rpcrdma2_auth_status. */
	int answer(const rpcrdma2_auth_request &request,
		   rpcrdma2_auth_answer &answer);

private:
	class private_value;

	std::unique_ptr<private_value> private_; /* of Diffie-Hellman */
};

/* The callback "auth" of librpcrdma2; @user is an Owner, with an authenticator "auth" */
template <class Owner>
int answer_auth(rpcrdma2_conn *, const rpcrdma2_auth_request *request,
		rpcrdma2_auth_answer *answer, void *user)
{
	return static_cast<Owner *>(user)->auth.answer(*request, *answer);
}

/* Thrown with a text for the user, for example if the device lacks a feature */
struct failure {
	std::string text;
};

class link
{
public:
	/*
	 * @id: with an address and a route, or of a connect request. It is destroyed
	 * with the object, but remains if the constructor throws a failure.
	 */
	link(rdma_cm_id *id, bool client, const settings &s,
	     const rpcrdma2_callbacks &callbacks, void *user);
	link(const link &) = delete;
	link &operator=(const link &) = delete;
	~link();

	/* Request the connection, or accept it; 0 or an errno. */
	int connect();
	int accept(const rdma_conn_param &request);
	/* Record the private data of the peer, as in that event. */
	void peer(const rdma_conn_param &param);
	void established();

	/* A file descriptor that is readable after a completion */
	int fd() const
	{
		return channel_->fd;
	}

	/* Process completions and timers. Return false if the connection has ended. */
	bool process();
	/* Send as the credits permit. Return false if the connection has ended. */
	bool flush();
	void lost(const std::string &why);

	rpcrdma2_conn *conn() const
	{
		return conn_;
	}
	rdma_cm_id *id() const
	{
		return id_;
	}
	/* Return the error of the library, or 0, and the reason for the end. */
	int error() const
	{
		return error_;
	}
	const std::string &reason() const
	{
		return reason_;
	}
	bool remote_invalidation() const
	{
		return invalidation_;
	}

private:
	void set_up(bool client, const settings &s,
		    const rpcrdma2_callbacks &callbacks, void *user);
	void release();
	bool ended(int error);
	bool post_receives();
	bool completed(const ibv_wc &wc);
	rdma_conn_param parameters();
	unsigned char *buffer(uint64_t index) const
	{
		return memory_.get() + index * size_;
	}
	/* The first @length bytes of that buffer */
	ibv_sge sge(uint64_t index, size_t length) const
	{
		return { reinterpret_cast<uintptr_t>(buffer(index)),
			 static_cast<uint32_t>(length), mr_->lkey };
	}

	rdma_cm_id *id_;
	ibv_comp_channel *channel_ = nullptr;
	ibv_pd *pd_ = nullptr;
	ibv_cq *cq_ = nullptr;
	ibv_mr *mr_ = nullptr;
	std::vector<std::max_align_t> storage_;
	rpcrdma2_conn *conn_ = nullptr;
	size_t size_ = 0; /* of each buffer */
	std::unique_ptr<unsigned char[]> memory_;
	std::vector<uint64_t> receives_, sends_; /* free buffers */
	uint64_t first_send_ = 0;
	bool established_ = false, invalidation_ = false;
	uint8_t reads_ = 1;
	uint8_t private_[RPCRDMA2_PRIVATE_OCTETS];
	int error_ = 0;
	std::string reason_;
};

} // namespace ping

#endif /* PING_LINK_HH */
