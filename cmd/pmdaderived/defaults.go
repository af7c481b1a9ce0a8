package main

import (
	"context"
	"path/filepath"

	"pmdaderived/config"
	"pmdaderived/pmda/pmapi"
)

// program is what the program is called in messages.
const program = "pmdaderived"

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // something went wrong
	exitUsage   = 2 // the command line makes no sense
)

// defaultDomain is the agent's domain.
const defaultDomain = 510

// defaultState is where metric identifiers are remembered.
func defaultState(conf config.PCPConf) string {
	return filepath.Join(conf.VarDir, "config", "pmda", "derived.identities")
}

// defaultPMCD is the unix socket of the pmcd that this host runs, and probably started us.
func defaultPMCD(conf config.PCPConf, getenv func(string) string) string {
	if socket := getenv("PMCD_SOCKET"); socket != "" {
		return "unix:" + socket
	}
	return "unix:" + filepath.Join(conf.RunDir, "pmcd.socket")
}

// dial connects to a pmcd.
func dial(ctx context.Context, spec string, opts ...pmapi.Option) (*pmapi.Conn, error) {
	network, address, err := pmapi.ParseAddress(spec)
	if err != nil {
		return nil, err
	}
	return pmapi.Dial(ctx, network, address, opts...)
}
