package main

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// agentsView is what the agent that a pmcd has says of its definitions.
type agentsView struct {
	rows   map[string]row    // by the name of the definition
	unread map[string]string // why files and directories were not read, or not to their end, by path
}

// row is a definition as the agent has it: its values of derived.control.definition, by the rest of their names.
type row map[string]pdu.Value

func (r row) text(column string) string { return stringOf(r[column]) }

// since is a time to the millisecond; false if there is none.
func (r row) since(column string) (string, bool) {
	v, ok := r[column]
	passed := time.Duration(math.Float64frombits(v.Bits) * float64(time.Millisecond))
	return passed.Round(time.Millisecond).String(), ok
}

// served asks the agent for its definitions; nil if pmcd has no agent, or it is an archive.
func (c *collector) served(ctx context.Context) (*agentsView, error) {
	if c.played != nil {
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
	all, err := c.fetch(ctx, names...)
	if err != nil || all[0].absent < 0 {
		return nil, err
	}
	definitions, err := c.names(ctx, all[0].id)
	if err != nil {
		return nil, err
	}
	v := &agentsView{rows: make(map[string]row, len(definitions)), unread: map[string]string{}}
	for _, name := range definitions {
		v.rows[name] = row{}
	}
	last := len(all) - 1
	for i, column := range all[:last] {
		for _, value := range column.values {
			if row := v.rows[definitions[value.Inst]]; row != nil {
				row[strings.TrimPrefix(columns[i], "definition.")] = value
			}
		}
	}
	if len(all[last].values) == 0 {
		return v, nil
	}
	files, err := c.names(ctx, all[last].id)
	for _, value := range all[last].values {
		if text := stringOf(value); text != "" {
			v.unread[files[value.Inst]] = text
		}
	}
	return v, err
}

func stringOf(v pdu.Value) string { return strings.TrimRight(string(v.Bytes), "\x00") }

// reason is why the agent could not read a file, or a directory that it is in; empty if it could, or does not try.
func (v *agentsView) reason(file string) string {
	for path := file; ; path = filepath.Dir(path) {
		if text := v.unread[path]; text != "" {
			return text
		}
		if path == filepath.Dir(path) {
			return ""
		}
	}
}
