package pmcdtest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Config describes a private pmcd. The zero value has the stock agents pmcd (2), proc (3), sample
// (29), linux (60) and mmv (70) and the stock access rules.
type Config struct {
	Agents []Agent // started besides the stock ones, in this order
	// Access is the text below [access] in pmcd.conf. Empty: as shipped, every user of this machine
	// may do everything, others may not store.
	Access string
	// HostName is the name of the host for pmcd and its agents; empty: this machine's. It is in the
	// label hostname where we may make a UTS namespace, as root may outside most containers, and in
	// pmcd.hostname everywhere.
	HostName string
	// Labels are the labels of the host as a JSON object, besides those that pmcd makes itself; empty: as on this machine.
	Labels string
	Flags  []string // further pmcd options, for example "-t", "1"; pmcd is a daemon, so no "-f"
	Env    []string // further "NAME=value" for pmcd, its agents and the tools; the last of a name counts
}

// Agent is one agent that speaks over its stdin and stdout.
type Agent struct {
	Name   string // as in pmcd.conf; also the root of its metrics unless PMNS says otherwise
	Domain int    // 1 to 510, not one of the stock agents' domains
	// Command is the absolute path of the program and its arguments. pmcd runs it without a shell.
	Command  []string
	NotReady bool // pmcd waits for the agent's word that it is ready
	// PMNS is the agent's part of the name space. Empty: one dynamic subtree, `NAME NAME:*:*`. Without braces: lines
	// of the root section. With braces: sections, the first of them called Name.
	// The macro NAME (in capitals) stands for Domain.
	PMNS string
}

// stockAccess is the [access] section of the pmcd.conf that PCP ships.
const stockAccess = `disallow ".*" : store;
disallow ":*" : store;
allow "local:*" : all;`

var agentName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (c Config) validate() error {
	if slices.Contains(c.Flags, "-f") || slices.Contains(c.Flags, "--foreground") {
		return errors.New("a private pmcd does not run in the foreground")
	}
	for _, agent := range c.Agents {
		if err := agent.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (a Agent) validate() error {
	switch {
	case !agentName.MatchString(a.Name):
		return fmt.Errorf("agent %q: a name is a lower-case letter, then letters, digits, underscores", a.Name)
	case a.Domain < 1 || a.Domain > 510:
		return fmt.Errorf("agent %s: domain %d is not in 1 to 510", a.Name, a.Domain)
	case len(a.Command) == 0 || !strings.HasPrefix(a.Command[0], "/"):
		return fmt.Errorf("agent %s: command %q does not begin with an absolute path", a.Name, a.Command)
	}
	for _, word := range a.Command {
		if strings.ContainsAny(word, "\n\x00") {
			return fmt.Errorf("agent %s: pmcd.conf cannot hold the argument %q", a.Name, word)
		}
	}
	return nil
}

// line returns the agent's line of pmcd.conf. pmcd splits it at blanks and takes `"` as the only quote.
func (a Agent) line() string {
	quoted := make([]string, len(a.Command))
	for i, word := range a.Command {
		quoted[i] = `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`
	}
	protocol := "binary"
	if a.NotReady {
		protocol += " notready"
	}
	return fmt.Sprintf("%s %d pipe %s %s\n", a.Name, a.Domain, protocol, strings.Join(quoted, " "))
}

// pmns returns a complete name space that holds only this agent.
func (a Agent) pmns() string {
	macro := strings.ToUpper(a.Name)
	define := fmt.Sprintf("#define %s %d\n", macro, a.Domain)
	text := a.PMNS
	if text == "" {
		text = fmt.Sprintf("%s %s:*:*", a.Name, macro)
	}
	if strings.Contains(text, "{") {
		return define + "root { " + a.Name + " }\n" + text + "\n"
	}
	return define + "root {\n" + text + "\n}\n"
}
