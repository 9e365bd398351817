# SPDX-License-Identifier: GPL-2.0
# Sourced by tests in the guest: host authentication. Client and server are the same
# host here, so they have one secret and one identity, and lack it together.
# shellcheck shell=bash disable=SC2086

AUTH_PARAMETERS=/sys/module/rpcrdma/parameters
AUTH_IDENTITY=guest.example.test

# set_auth CLIENT SERVER: 0 none, 1 offer, 2 require
set_auth()
{
	echo $1 >$AUTH_PARAMETERS/host_auth
	echo $2 >$AUTH_PARAMETERS/svc_host_auth
}

# set_secret [BYTES]: the secret, of that many random bytes
set_secret()
{
	drop_secret
	echo $AUTH_IDENTITY >$AUTH_PARAMETERS/host_identity
	head -c ${1:-32} /dev/urandom | keyctl padd logon rpcrdma:$AUTH_IDENTITY @u
}

drop_secret()
{
	keyctl unlink "$(keyctl search @u logon rpcrdma:$AUTH_IDENTITY 2>/dev/null)" @u 2>/dev/null || true
}

# auth_is CLIENT SERVER: the ends of the mount's connection say so
auth_is()
{
	connections
	connections | grep -q "^role=client .* auth=$1 .*state=open " ||
		complain "the client does not report $1"
	connections | grep -q "^role=server .* auth=$2 .*state=open " ||
		complain "the server does not report $2"
}

# auth_mounts VERSION CLIENT SERVER
auth_mounts()
{
	local dir=/mnt-auth status=0
	do_mount $1 $dir
	echo $1 >$dir/auth
	[ "$(cat $EXPORT/auth)" = $1 ] || complain "the file in the export has another content"
	auth_is $2 $3 || status=$?
	umount $dir
	return $status
}

# auth_denied VERSION REASON: a mount fails within a few seconds, with EACCES, and a line
# in the log that has the reason.
auth_denied()
{
	local began=$SECONDS said
	said=$(do_mount $1 /mnt-auth 2>&1) && complain "the mount did not fail"
	echo "$said"
	[ $((SECONDS - began)) -lt $((10 * TIMEOUT_SCALE)) ] || complain "the mount took $((SECONDS - began)) s to fail"
	[[ $said == *denied* ]] || complain "the error is not EACCES"
	dmesg | tail -n 10
	dmesg | tail -n 10 | grep -q "$2" || complain "the log does not have: $2"
}

auth_secret()
{
	set_auth 2 2
	set_secret
	auth_mounts $1 authenticated authenticated
}

# A secret is revoked: a connection goes on until it ends, and there is no other.
auth_revoked()
{
	set_auth 2 2
	set_secret
	auth_mounts 4.2 authenticated authenticated
	keyctl revoke "$(keyctl search @u logon rpcrdma:$AUTH_IDENTITY)"
	auth_denied 4.2 'secret'
}

auth_missing()
{
	drop_secret
	set_auth 2 2
	auth_denied ${1:-3} 'secret'
	set_auth 1 2
	auth_denied ${1:-3} 'requires'
	set_auth 1 1
	auth_mounts ${1:-3} none unused
}

# Settings that are required at one end only
auth_not_offered()
{
	set_secret
	set_auth 2 0
	auth_denied 4.1 'does not take part'
	set_auth 1 0
	auth_mounts 4.1 unused none
	set_auth 0 2
	auth_denied 4.1 'requires'
}

auth_version_1()
{
	set_secret
	set_auth 2 1
	echo 1 >$AUTH_PARAMETERS/svc_max_version
	auth_denied 3 'version 1' || { echo 2 >$AUTH_PARAMETERS/svc_max_version; return 1; }
	echo 2 >$AUTH_PARAMETERS/svc_max_version
}

# A secret that is too short counts as none.
auth_short()
{
	set_secret 15
	set_auth 2 2
	auth_denied 4.2 'has less than 16 bytes'
}

auth_off()
{
	drop_secret
	set_auth 1 1
	echo >$AUTH_PARAMETERS/host_identity
}
