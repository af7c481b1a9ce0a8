package pmcdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// runTimeout limits the time of a tool in Run.
const runTimeout = 60 * time.Second

// Env returns the environment in which stock tools use this pmcd: that of this process without
// PCP's variables, then those of the private pmcd, then [Config].Env.
func (p *PMCD) Env() []string {
	return append(p.agentEnv(), "PMCD_SOCKET="+p.Socket, fmt.Sprintf("PMCD_PORT=%d", p.Port))
}

// agentEnv returns the environment of pmcd, which its agents inherit. An agent must find pmcd's socket as in real life,
// in PCP_RUN_DIR.
func (p *PMCD) agentEnv() []string {
	var env []string
	for _, variable := range os.Environ() {
		if !isPCPVariable(variable) && !strings.HasPrefix(variable, "PATH=") {
			env = append(env, variable)
		}
	}
	env = append(env,
		"PCP_CONF="+p.confFile(),
		"PATH="+os.Getenv("PATH")+":"+p.conf["PCP_BINADM_DIR"],
		"PCP_RUN_DIR="+filepath.Join(p.Dir, "run"),
		"PCP_LOG_DIR="+filepath.Join(p.Dir, "log"),
		"PCP_ARCHIVE_DIR="+filepath.Join(p.Dir, "log", "pmlogger"),
		"PCP_TMP_DIR="+filepath.Join(p.Dir, "tmp"),
		"PCP_VAR_DIR="+filepath.Join(p.Dir, "var"),
		"PCP_SYSCONF_DIR="+filepath.Join(p.Dir, "etc"),
		"PCP_PMCDCONF_PATH="+p.controlFile(),
		"PCP_USER="+p.own.user,
		"PCP_GROUP="+p.own.group,
		// Debian's modules for Python belong to Debian's python3, which need not be the first in PATH.
		"PCP_PYTHON_PROG=/usr/bin/python3",
	)
	return append(env, p.cfg.Env...)
}

// isPCPVariable reports whether PCP's libraries or tools read the variable.
func isPCPVariable(variable string) bool {
	for _, prefix := range []string{"PCP_", "PMCD_", "PMDA_", "PMNS_", "PMLOGGER_", "PMPROXY_"} {
		if strings.HasPrefix(variable, prefix) {
			return true
		}
	}
	return false
}

// Command returns a command that will use this pmcd. A name without a slash is looked up in PATH,
// which includes PCP_BINADM_DIR.
func (p *PMCD) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	if !strings.Contains(name, "/") {
		if _, err := exec.LookPath(name); err != nil {
			name = filepath.Join(p.conf["PCP_BINADM_DIR"], name)
		}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = p.Env()
	return cmd
}

// Run runs a program against this pmcd and returns its output and its exit status. A
// program that cannot be started, is ended by a signal or takes more than a minute fails the test.
func (p *PMCD) Run(tb testing.TB, args ...string) (stdout, stderr string, exit int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), runTimeout) // for use in Cleanup too
	defer cancel()
	cmd := p.Command(ctx, args[0], args[1:]...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	ran := fmt.Sprintf("%s: %v\n%s%s", strings.Join(args, " "), cmd.ProcessState, errs.Bytes(), out.Bytes())
	p.ran.Store(&ran)
	var status *exec.ExitError
	if err != nil && (!errors.As(err, &status) || !status.Exited()) {
		tb.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out.Bytes(), errs.Bytes())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// lastCommand returns the beginning of what the last command of Run printed. It is for the log of a test that fails.
func (p *PMCD) lastCommand() string {
	ran := p.ran.Load()
	if ran == nil {
		return ""
	}
	const most = 20
	lines := strings.Split(strings.TrimRight(*ran, "\n"), "\n")
	if len(lines) > most {
		lines = append(lines[:most], "...")
	}
	return "---- last command ----\n" + strings.Join(lines, "\n") + "\n"
}
