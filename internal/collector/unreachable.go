package collector

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// unreachable returns the error of a failed connection in words that say what to do.
func unreachable(err error) error {
	at := ""
	if failed, ok := errors.AsType[*pmapi.OpError](err); ok {
		at = failed.Addr
	}
	var unknown *net.DNSError
	text := ""
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		text = fmt.Sprintf("there is no host %s", unknown.Name)
	case errors.As(err, &unknown): // the rest of the error is about name servers
		text = fmt.Sprintf("the address of host %s cannot be found", unknown.Name)
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
		start := "Start it on that host"
		if isThisHost(at) {
			start = "Start it (systemctl start pmcd)"
		}
		text = fmt.Sprintf("pmcd does not run: nothing listens at %s. %s, or name another one with -h", at, start)
	case errors.Is(err, syscall.EACCES):
		text = fmt.Sprintf("permission denied for the socket of pmcd at %s", at)
	case errors.Is(err, pdu.ErrTimeout):
		text = fmt.Sprintf("pmcd at %s does not answer", at)
	default:
		return err
	}
	return errors.New(text)
}

// isThisHost reports whether an address, as in [pmapi.OpError], is a unix socket or a loopback address.
func isThisHost(at string) bool {
	if strings.HasPrefix(at, "unix:/") || strings.HasPrefix(at, pmapi.NetworkLocal+":/") {
		return true
	}
	host, _, err := net.SplitHostPort(at)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}
