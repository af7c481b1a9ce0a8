package pmapi_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pmda/pmapi"
)

func TestParseAddress(t *testing.T) {
	for _, row := range []struct {
		name, spec, network, address string
	}{
		{"nothing is the local pmcd", "", "local", "/run/pcp/pmcd.socket"},
		{"local", "local:", "local", "/run/pcp/pmcd.socket"},
		{"local with a path", "local:/srv/s", "local", "/srv/s"},
		{"local with slashes", "local://srv/s", "local", "/srv/s"},
		{"unix", "unix:", "unix", "/run/pcp/pmcd.socket"},
		{"unix with a path", "unix:/srv/s", "unix", "/srv/s"},
		{"unix with two slashes", "unix://srv/s", "unix", "/srv/s"},
		{"unix with three slashes", "unix:///srv/s", "unix", "/srv/s"},
		{"unix, relative counts from the root", "unix:srv/s", "unix", "/srv/s"},
		{"unix, colon in the path", "unix:/srv/a:b", "unix", "/srv/a:b"},
		{"a bare path", "/srv//s", "unix", "/srv/s"},
		{"host", "nas1", "tcp", "nas1:44321"},
		{"host and port", "nas1.acme.com:4321", "tcp", "nas1.acme.com:4321"},
		{"host and ports", "nas1:44321,4321", "tcp", "nas1:44321,4321"},
		{"a host called local", "local", "tcp", "local:44321"},
		{"IPv4", "192.168.0.103", "tcp", "192.168.0.103:44321"},
		{"IPv6", "[::1]", "tcp", "[::1]:44321"},
		{"IPv6 and port", "[::1]:1", "tcp", "[::1]:1"},
		{"IPv6 with scope", "[fe80::2ad2:44ff:fe88:e4f1%p2p1]", "tcp", "[fe80::2ad2:44ff:fe88:e4f1%p2p1]:44321"},
		{"protocol", "pcp://nas1:1", "tcp", "nas1:1"},
		{"protocol and a host called unix", "pcp://unix:1", "tcp", "unix:1"},
		{"protocol with IPv6", "pcp://[::1]", "tcp", "[::1]:44321"},
	} {
		t.Run(row.name, func(t *testing.T) {
			clearEnvironment(t)
			network, address, err := pmapi.ParseAddress(row.spec)
			require.NoError(t, err)
			assert.Equal(t, row.network, network)
			assert.Equal(t, row.address, address)
		})
	}
}

func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{"PMCD_SOCKET", "PMCD_PORT", "PCP_RUN_DIR"} {
		t.Setenv(name, "")
	}
}

func TestParseAddressEnvironment(t *testing.T) {
	for _, row := range []struct {
		name, variable, value, spec, address string
	}{
		{"socket", "PMCD_SOCKET", "/srv/z", "unix:", "/srv/z"},
		{"socket of the local pmcd", "PMCD_SOCKET", "/srv/z", "", "/srv/z"},
		{"socket is overridden", "PMCD_SOCKET", "/srv/z", "unix:/srv/s", "/srv/s"},
		{"run directory", "PCP_RUN_DIR", "/srv/z", "local:", "/srv/z/pmcd.socket"},
		{"port", "PMCD_PORT", "5", "nas1", "nas1:5"},
		{"ports", "PMCD_PORT", "5,6", "nas1", "nas1:5,6"},
		{"port is overridden", "PMCD_PORT", "5", "nas1:7", "nas1:7"},
		{"nonsense as port is ignored", "PMCD_PORT", "x", "nas1", "nas1:44321"},
	} {
		t.Run(row.name, func(t *testing.T) {
			clearEnvironment(t)
			t.Setenv(row.variable, row.value)
			_, address, err := pmapi.ParseAddress(row.spec)
			require.NoError(t, err)
			assert.Equal(t, row.address, address)
		})
	}
}

func TestParseAddressErrors(t *testing.T) {
	for _, row := range []struct {
		name, spec, reason string
	}{
		{"IPv6 without brackets", "::1", "in brackets"},
		{"IPv6 without the closing bracket", "[::1", "in brackets"},
		{"text after the address", "[::1]x", `unexpected "x"`},
		{"no port after the colon", "localhost:", `"" is not a valid port`},
		{"port zero", "localhost:0", `"0" is not a valid port`},
		{"port out of range", "localhost:65536", `"65536" is not a valid port`},
		{"port that is no number", "localhost:http", `"http" is not a valid port`},
		{"hole in the ports", "localhost:1,,2", `"" is not a valid port`},
		{"no host", ":44321", "no host name"},
		{"only brackets", "[]:44321", "no host name"},
		{"only the protocol", "pcp://", "no host name"},
		{"only the root", "//", "missing path"},
		{"blank", "a b", "is not a valid host name"},
		{"relative path", "run/pmcd.socket", "is not a valid host name"},
		{"through pmproxy", "nas1@firewall", "pmproxy"},
		{"container", "nas1?container=x", "attributes"},
		{"encrypted", "pcps://nas1", "encrypted"},
	} {
		t.Run(row.name, func(t *testing.T) {
			clearEnvironment(t)
			network, address, err := pmapi.ParseAddress(row.spec)
			require.ErrorContains(t, err, row.reason)
			assert.ErrorContains(t, err, `"`+row.spec+`"`)
			assert.Empty(t, network+address)
		})
	}
}

// Whatever is accepted names a place, and the name of the place is accepted as the same.
func FuzzParseAddress(f *testing.F) {
	for _, spec := range []string{"", "local:", "unix:x", "/a//b", "h", "h:1,2", "[::1%lo]:3", "pcp://h", "h@p", "h?a", ":", "[", "[]"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		network, address, err := pmapi.ParseAddress(spec)
		if err != nil {
			return
		}
		again := "pcp://" + address
		switch network {
		case "unix", pmapi.NetworkLocal:
			require.True(t, strings.HasPrefix(address, "/"))
			again = network + ":" + address
		default:
			require.Equal(t, "tcp", network)
			host, ports, err := net.SplitHostPort(address)
			require.NoError(t, err)
			require.NotEmpty(t, host)
			require.NotEmpty(t, ports)
		}
		network2, address2, err := pmapi.ParseAddress(again)
		require.NoError(t, err)
		require.Equal(t, network, network2)
		require.Equal(t, address, address2)
	})
}
