package agent

// Remembered is what a state file says of a definition.
type Remembered struct {
	Bound bool   // it has been served
	Text  string // the expression that it had then, the last time
}

// ReadRemembered reads from a state file ([Options].StateFile) which definitions the agent has ever had, by name.
// It changes nothing; the agent may run.
func ReadRemembered(stateFile string) (map[string]Remembered, error) {
	f, err := readIdentityFile(stateFile)
	if err != nil {
		return nil, err
	}
	all := make(map[string]Remembered, len(f.Metrics))
	for name, m := range f.Metrics {
		all[name] = Remembered{Bound: m.Desc != nil, Text: m.Text}
	}
	return all, nil
}
