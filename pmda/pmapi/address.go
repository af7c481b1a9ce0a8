package pmapi

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
)

// DefaultPort is the TCP port on which pmcd listens by default.
const DefaultPort = "44321"

// NetworkLocal is the network of a "local:" address: [Dial] tries the unix socket, then TCP to localhost.
const NetworkLocal = "local"

// defaultRunDir is the directory of pmcd's socket if PCP_RUN_DIR is not set.
const defaultRunDir = "/run/pcp"

var (
	errNoSocket   = errors.New("missing path of the socket")
	errNoHost     = errors.New("no host name")
	errBrackets   = errors.New("write an IPv6 address in brackets")
	errProxy      = errors.New("a route through pmproxy is not supported")
	errAttributes = errors.New("connection attributes are not supported")
	errSecure     = errors.New("encrypted connections are not supported")
)

// ParseAddress reads a host specification, the argument of -h of PCP's tools. It returns the arguments of [Dial].
//
//	""  "local:"  "local:/path"    network "local": the unix socket, then TCP to localhost
//	"unix:"  "unix:/path"  "/path" network "unix"
//	"host"  "host:port"  "host:port,port"  "pcp://host:port"  "[::1]:44321"  network "tcp"
//
// Without a path the socket is $PMCD_SOCKET, or pmcd.socket in $PCP_RUN_DIR, by default /run/pcp. Without a port
// it is $PMCD_PORT, which may be a list as in a specification, or [DefaultPort]. A relative path begins at the
// root directory, as in libpcp. Routes through pmproxy ("@"), connection attributes ("?")
// and encryption ("pcps:") are refused.
//
// Source: PCPIntro(1), "PMCD HOST SPECIFICATION".
func ParseAddress(spec string) (network, address string, err error) {
	network, address, err = parseAddress(spec)
	if err != nil {
		return "", "", fmt.Errorf("host specification %q: %w", spec, err)
	}
	return network, address, nil
}

func parseAddress(spec string) (network, address string, err error) {
	scheme, rest, found := strings.Cut(spec, ":")
	switch {
	case spec == "":
		return NetworkLocal, socketPath(""), nil
	case strings.HasPrefix(spec, "/") && path.Clean(spec) == "/":
		return "", "", errNoSocket
	case strings.HasPrefix(spec, "/"):
		return "unix", path.Clean(spec), nil
	case found && (scheme == "unix" || scheme == NetworkLocal):
		return scheme, socketPath(rest), nil
	case found && scheme == "pcps":
		return "", "", errSecure
	case strings.HasPrefix(spec, "pcp://"):
		spec = strings.TrimPrefix(spec, "pcp://")
	}
	if strings.Contains(spec, "@") {
		return "", "", errProxy
	}
	if strings.Contains(spec, "?") {
		return "", "", errAttributes
	}
	host, ports, err := splitHost(spec)
	if err != nil {
		return "", "", err
	}
	return "tcp", net.JoinHostPort(host, ports), nil
}

// socketPath makes the path after "unix:" or "local:" absolute.
func socketPath(s string) string {
	if p := path.Clean("/" + s); p != "/" {
		return p
	}
	if p := os.Getenv("PMCD_SOCKET"); p != "" {
		return p
	}
	dir := os.Getenv("PCP_RUN_DIR")
	if dir == "" {
		dir = defaultRunDir
	}
	return path.Join(dir, "pmcd.socket")
}

// splitHost separates the name from the ports and checks both.
func splitHost(spec string) (host, ports string, err error) {
	host, ports, found := strings.Cut(spec, ":")
	if inner, ok := strings.CutPrefix(spec, "["); ok {
		var tail string
		if host, tail, ok = strings.Cut(inner, "]"); !ok {
			return "", "", errBrackets
		}
		if ports, found = strings.CutPrefix(tail, ":"); !found && tail != "" {
			return "", "", fmt.Errorf("unexpected %q after the address", tail)
		}
	} else if strings.Contains(ports, ":") {
		return "", "", errBrackets
	}
	if host == "" {
		return "", "", errNoHost
	}
	if strings.ContainsAny(host, "/ \t\n[]") {
		return "", "", fmt.Errorf("%q is not a valid host name", host)
	}
	if !found {
		return host, defaultPorts(), nil
	}
	if err := checkPorts(ports); err != nil {
		return "", "", err
	}
	return host, ports, nil
}

// defaultPorts returns the list of ports for a specification without one.
func defaultPorts() string {
	if ports := os.Getenv("PMCD_PORT"); checkPorts(ports) == nil {
		return ports
	}
	return DefaultPort
}

func checkPorts(list string) error {
	for port := range strings.SplitSeq(list, ",") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("%q is not a valid port", port)
		}
	}
	return nil
}

// candidates returns the addresses to try, in that order, for one address of [ParseAddress].
func candidates(network, address string) ([]candidate, error) {
	switch network {
	case NetworkLocal:
		local := []candidate{{"unix", address}}
		tcp, err := candidates("tcp", net.JoinHostPort("localhost", defaultPorts()))
		return append(local, tcp...), err
	case "tcp", "tcp4", "tcp6":
		host, ports, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		var all []candidate
		for port := range strings.SplitSeq(ports, ",") {
			all = append(all, candidate{network, net.JoinHostPort(host, port)})
		}
		return all, nil
	}
	return []candidate{{network, address}}, nil
}

// candidate is one address to connect to, in the form that net.Dial wants.
type candidate struct{ network, address string }

// String returns the address in the form of a host specification.
func (c candidate) String() string {
	if c.network == "unix" || c.network == NetworkLocal {
		return c.network + ":" + c.address
	}
	return c.address
}
