package collector

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// AgentView is what the agent of a pmcd says of its definitions.
type AgentView struct {
	Rows       map[string]DefinitionRow // by the name of the definition
	fileErrors map[string]string        // by path: why a file or directory was not read completely
}

// DefinitionRow has the values of derived.control.definition.* for one definition, by the rest of the metric's name.
type DefinitionRow map[string]pdu.Value

// Text returns the value of a metric with texts, "" if there is none.
func (r DefinitionRow) Text(column string) string { return stringOf(r[column]) }

// Since returns the value of a metric that is a number of milliseconds, such as definition.age, as the text of a
// duration. ok is false if there is none.
func (r DefinitionRow) Since(column string) (string, bool) {
	v, ok := r[column]
	passed := time.Duration(math.Float64frombits(v.Bits) * float64(time.Millisecond))
	return passed.Round(time.Millisecond).String(), ok
}

// AgentView asks the agent for its definitions. It returns nil if pmcd has no agent, for an archive, or without metrics.
func (c *Collector) AgentView(ctx context.Context) (*AgentView, error) {
	if c.Archive != nil || c.Metrics == nil {
		return nil, nil
	}
	columns := []string{
		"definition.state", "definition.error", "definition.expression", "definition.pmid", "definition.age",
		"definition.evaluated", "definition.values", "file.error",
	}
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = derived.Root + ".control." + column
	}
	all, err := c.Values(ctx, names...)
	if err != nil || all[0].LookupCode < 0 {
		return nil, err
	}
	definitions, err := c.InstanceNames(ctx, all[0].ID)
	if err != nil {
		return nil, err
	}
	v := &AgentView{Rows: make(map[string]DefinitionRow, len(definitions)), fileErrors: map[string]string{}}
	for _, name := range definitions {
		v.Rows[name] = DefinitionRow{}
	}
	last := len(all) - 1
	for i, column := range all[:last] {
		for _, value := range column.Values {
			if row := v.Rows[definitions[value.Inst]]; row != nil {
				row[strings.TrimPrefix(columns[i], "definition.")] = value
			}
		}
	}
	if len(all[last].Values) == 0 {
		return v, nil
	}
	files, err := c.InstanceNames(ctx, all[last].ID)
	for _, value := range all[last].Values {
		if text := stringOf(value); text != "" {
			v.fileErrors[files[value.Inst]] = text
		}
	}
	return v, err
}

func stringOf(v pdu.Value) string { return strings.TrimRight(string(v.Bytes), "\x00") }

// Unread returns why the agent could not read a file, or a directory above it; "" if it could, or does not read it.
func (v *AgentView) Unread(file string) string {
	for path := file; ; path = filepath.Dir(path) {
		if text := v.fileErrors[path]; text != "" {
			return text
		}
		if path == filepath.Dir(path) {
			return ""
		}
	}
}
