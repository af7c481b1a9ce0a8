package commandline

import (
	"context"
	"path/filepath"

	"pmdaderived/config"
	"pmdaderived/pmda/pmapi"
)

// Name is the name of the program in messages.
const Name = "pmdaderived"

// Exit codes of the program.
const (
	ExitOK      = 0
	ExitFailure = 1 // something went wrong
	ExitUsage   = 2 // the command line is wrong
)

// Domain is the default domain of the agent.
const Domain = 510

// StateFile returns the default path of the file in which the agent saves metric identifiers.
func StateFile(conf config.PCPConf) string {
	return filepath.Join(conf.VarDir, "config", "pmda", "derived.identities")
}

// PMCD returns the default address of pmcd: the unix socket of this host's pmcd.
func PMCD(conf config.PCPConf, getenv func(string) string) string {
	if socket := getenv("PMCD_SOCKET"); socket != "" {
		return "unix:" + socket
	}
	return "unix:" + filepath.Join(conf.RunDir, "pmcd.socket")
}

// Dial connects to the pmcd at an address as in the option --pmcd.
func Dial(ctx context.Context, spec string, opts ...pmapi.Option) (*pmapi.Conn, error) {
	network, address, err := pmapi.ParseAddress(spec)
	if err != nil {
		return nil, err
	}
	return pmapi.Dial(ctx, network, address, opts...)
}
