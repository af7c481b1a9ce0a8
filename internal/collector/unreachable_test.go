package collector

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// A failed connection is described in words of PCP.
func TestUnreachable(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"refused", refusal(syscall.ECONNREFUSED), "pmcd does not run: nothing listens at host:1. Start it on that " +
			"host, or name another one with -h"},
		{"closed", refusal(syscall.EACCES), "permission denied for the socket of pmcd at host:1"},
		{"silent", refusal(pdu.ErrTimeout), "pmcd at host:1 does not answer"},
		{
			"no host", refusal(&net.DNSError{Err: "no such host", Name: "host", IsNotFound: true}),
			"there is no host host",
		},
		{
			"no answer about the host",
			refusal(&net.DNSError{Err: "read: refused", Name: "host", Server: "192.0.2.1:53", IsTemporary: true}),
			"the address of host host cannot be found",
		},
		{
			"refuses us", refusal(pdu.ErrPermission),
			"pmcd host:1: connect: No permission to perform requested operation",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.EqualError(t, unreachable(row.err), row.want)
		})
	}
}

// Only for this host the message says how to start pmcd.
func TestUnreachableHost(t *testing.T) {
	for at, here := range map[string]bool{
		"unix:/run/pcp/pmcd.socket": true, "localhost:44321": true, "127.0.0.1:44321": true, "127.1.2.3:44321": true,
		"[::1]:44321": true,
		"host:44321":  false, "192.0.2.1:44321": false, "[2001:db8::1]:44321": false, "unix:44321": false,
	} {
		err := unreachable(&pmapi.OpError{Op: "connect", Addr: at, Err: syscall.ECONNREFUSED})
		assert.Contains(t, err.Error(), "nothing listens at "+at+". Start it ")
		assert.Equal(t, here, strings.Contains(err.Error(), "systemctl"), at)
	}
}

// refusal is the error of a connection that was not made.
func refusal(reason error) error {
	if _, ok := errors.AsType[pdu.Code](reason); !ok {
		reason = &net.OpError{Op: "dial", Net: "tcp", Err: reason}
	}
	return &pmapi.OpError{Op: "connect", Addr: "host:1", Err: reason}
}
