# SPDX-License-Identifier: GPL-2.0
# Sourced by tests in the guest: a Kerberos realm of the guest's own, for mounts
# with sec=krb5, krb5i and krb5p.
# shellcheck shell=bash disable=SC2034,SC2086

KRB5_REALM=EXAMPLE.TEST
KRB5_HOST=guest.example.test
KRB5_DOMAIN=example.test

# Start a KDC and the daemons of both ends, and create the host's keys, after
# nfs_services_up. The machine's credentials are mapped to root, because the tests run as
# root.
krb5_up()
{
	hostname ${KRB5_HOST%%.*}
	echo "$ADDR4 $KRB5_HOST ${KRB5_HOST%%.*}" >>/etc/hosts
	# Linux 6.1 has no encryption types with SHA-2.
	cat >/etc/krb5.conf <<-CONF
	[libdefaults]
		default_realm = $KRB5_REALM
		dns_lookup_kdc = false
		dns_lookup_realm = false
		dns_canonicalize_hostname = false
		rdns = false
		permitted_enctypes = aes256-cts-hmac-sha1-96
	[realms]
		$KRB5_REALM = {
			kdc = $ADDR4
		}
	[domain_realm]
		.$KRB5_DOMAIN = $KRB5_REALM
	CONF
	mkdir -p /etc/krb5kdc /var/lib/krb5kdc
	cat >/etc/krb5kdc/kdc.conf <<-CONF
	[realms]
		$KRB5_REALM = {
			database_name = /var/lib/krb5kdc/principal
			key_stash_file = /etc/krb5kdc/stash
			supported_enctypes = aes256-cts-hmac-sha1-96:normal
			master_key_type = aes256-cts-hmac-sha1-96
			max_life = 1d
		}
	CONF
	cat >/etc/idmapd.conf <<-CONF
	[General]
	Domain = $KRB5_DOMAIN
	[Translation]
	Method = nsswitch
	GSS-Methods = static,nsswitch
	[Static]
	nfs/$KRB5_HOST@$KRB5_REALM = root
	CONF
	rm -f /etc/krb5.keytab /var/lib/krb5kdc/*
	kdb5_util create -s -r $KRB5_REALM -P guest
	kadmin.local -q "addprinc -randkey nfs/$KRB5_HOST"
	kadmin.local -q "ktadd -k /etc/krb5.keytab nfs/$KRB5_HOST"
	krb5kdc
	wait_for 20 kinit -k nfs/$KRB5_HOST
	kdestroy

	modprobe -q rpcsec_gss_krb5 || true
	mkdir -p /run/rpc_pipefs
	# In the foreground they write to these files. Nothing listens to syslog.
	setsid rpc.svcgssd -f -vvv >$RUN/svcgssd.log 2>&1 </dev/null &
	setsid rpc.gssd -f -vvv >$RUN/gssd.log 2>&1 </dev/null &
	# Until a daemon has opened its pipe, the kernel refuses a context at once.
	wait_for 60 krb5_has_open rpc.svcgssd /net/rpc/auth.rpcsec.init/channel
	wait_for 60 krb5_has_open rpc.gssd /gssd/clntXX/gssd
	echo "$EXPORT *(rw,async,no_root_squash,no_subtree_check,fsid=0,insecure,sec=sys:krb5:krb5i:krb5p)" \
		>/etc/exports.d/guest.exports
	exportfs -ra
}

# Return true if the program $1 has a file open whose name ends with $2.
krb5_has_open()
{
	local pid
	pid=$(pidof -s $1) && find /proc/$pid/fd -lname "*$2" | grep -q .
}

# Show the last messages of the daemons, which tell why a context was refused.
krb5_messages() { tail -n 40 $RUN/gssd.log $RUN/svcgssd.log; }

# Stop the daemons before later tests: with them a client of NFSv4.0
# identifies itself by Kerberos even if the mount does not ask for it.
krb5_down()
{
	stop_daemons rpc.gssd rpc.svcgssd krb5kdc
	rm -f /etc/krb5.keytab
}
