package commandline

import (
	"context"
	"path/filepath"

	"pmdaderived/config"
	"pmdaderived/pmda/pmapi"
)

// Name is what the program is called in messages.
const Name = "pmdaderived"

// Exit codes.
const (
	ExitOK      = 0
	ExitFailure = 1 // something went wrong
	ExitUsage   = 2 // the command line makes no sense
)

// Domain is the agent's domain.
const Domain = 510

// StateFile is where metric identifiers are remembered.
func StateFile(conf config.PCPConf) string {
	return filepath.Join(conf.VarDir, "config", "pmda", "derived.identities")
}

// PMCD is the unix socket of the pmcd that this host runs, and probably started us.
func PMCD(conf config.PCPConf, getenv func(string) string) string {
	if socket := getenv("PMCD_SOCKET"); socket != "" {
		return "unix:" + socket
	}
	return "unix:" + filepath.Join(conf.RunDir, "pmcd.socket")
}

// Dial connects to a pmcd.
func Dial(ctx context.Context, spec string, opts ...pmapi.Option) (*pmapi.Conn, error) {
	network, address, err := pmapi.ParseAddress(spec)
	if err != nil {
		return nil, err
	}
	return pmapi.Dial(ctx, network, address, opts...)
}
