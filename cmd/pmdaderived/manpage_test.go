package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The manual page has its sections in order, and every option, sub-command and metric of the agent.
func TestManualPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/pmdaderived.1")
	require.NoError(t, err)
	page := strings.ReplaceAll(string(text), `\-`, "-")

	var sections []string
	for _, match := range regexp.MustCompile(`(?m)^\.SH (.*)$`).FindAllStringSubmatch(page, -1) {
		sections = append(sections, match[1])
	}
	assert.Equal(t, []string{
		"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SUB-COMMANDS", "FILES", "METRICS", "DIAGNOSTICS", "ENVIRONMENT", "SEE ALSO",
	}, sections)

	o, err := parseOptions(nil, testConf, environment())
	require.NoError(t, err)
	for _, option := range o.set.Options {
		if option.Help != "" {
			assert.Regexp(t, `\\fB--`+option.Long+`\\fR`, page)
		}
	}
	s := newSite(t)
	for _, c := range subCommands() {
		assert.Contains(t, page, `\fB`+c.name+`\fR`)
		usage, _, _ := s.run(c.name, "--help")
		options := regexp.MustCompile(`--[a-z]+`).FindAllString(usage, -1)
		require.NotEmpty(t, options)
		for _, option := range options {
			assert.Contains(t, page, option, "%s %s", c.name, option)
		}
	}

	help, err := os.ReadFile("../../help")
	require.NoError(t, err)
	metrics := regexp.MustCompile(`(?m)^@ (derived\.\S+)`).FindAllStringSubmatch(string(help), -1)
	require.NotEmpty(t, metrics)
	for _, match := range metrics {
		assert.Contains(t, page, match[1])
	}
}
