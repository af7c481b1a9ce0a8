package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Without Go, or with one that is too old, the message says so.
func TestCheckGo(t *testing.T) {
	t.Parallel()
	wanted := regexp.MustCompile(`(?m)^go (1\.[0-9]+)`).FindStringSubmatch(readDocument(t, "../go.mod"))
	require.NotNil(t, wanted)
	for _, row := range []struct {
		name, script, want string // a script that is go; what is said, if it will not do
	}{
		{"none", "", "there is no command "},
		{"this one", "echo go" + wanted[1] + ".8", ""},
		{"a candidate", "echo go" + wanted[1] + "rc1", ""},
		{"the next", "echo go1.99.1", ""},
		{"a later one, of its own making", "echo 'devel go1.99-0123456789 Sun Jan  1 00:00:00 2034 +0000'", ""},
		{"Debian 12", "echo go1.19.8", " is go1.19.8."},
		{"one that cannot read go.mod", "[ $PWD = / ] && echo go1.19.8", " is go1.19.8."},
		{"one that may not fetch another", "[ $PWD = / ] && echo go1.22.2", " is go1.22.2."},
		{"one of other people", "echo gccgo", " is gccgo."},
		{"broken", "exit 1", " env` fails."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "go")
			if row.script != "" {
				require.NoError(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\n%s\n", row.script), 0o755))
			}
			cmd := exec.Command("../scripts/check-go")
			cmd.Env = append(os.Environ(), "GO="+program)
			out, err := cmd.CombinedOutput()
			if row.want == "" {
				require.NoError(t, err, "%s", out)
				assert.Empty(t, string(out))
				return
			}
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(string(out), "Go "+wanted[1]+" or later is needed, and "), "%s", out)
			assert.Contains(t, string(out), row.want)
			assert.Contains(t, string(out), "\nhttps://go.dev/dl has it.")
		})
	}
}

// Every target that calls Go looks for it first of all: before PCP is installed.
func TestMakeChecksGoFirst(t *testing.T) {
	t.Parallel()
	needless := []string{"help", "clean", "uninstall"}
	var checked []string
	for _, match := range regexp.MustCompile(`(?m)^([a-z-]+):.* ## `).FindAllStringSubmatch(readDocument(t,
		"../Makefile"), -1) {
		out, err := exec.Command("make", "-s", "-n", "-C", "..", match[1]).Output()
		require.NoError(t, err, match[1])
		if first, _, _ := strings.Cut(string(out), "\n"); strings.HasSuffix(first, " scripts/check-go") {
			checked = append(checked, match[1])
		} else {
			assert.Contains(t, needless, match[1], "begins with %s", first)
		}
	}
	assert.Greater(t, len(checked), 12)

	out := must(exec.Command("make", "-s", "-n", "-C", "..", "install", "BINARY=a-program", "GO=/no/go").Output())(t)
	assert.NotContains(t, string(out), "check-go")
}

// The README and the list of targets say the same about the time that make packages takes.
func TestTimeOfPackages(t *testing.T) {
	t.Parallel()
	var times []string
	for _, path := range []string{"../README.md", "../Makefile"} {
		match := regexp.MustCompile(`(?m)^ *(?:make )?packages.*?(\w+ to \w+) minutes the first time`).FindStringSubmatch(readDocument(t, path))
		require.NotNil(t, match, path)
		times = append(times, match[1])
	}
	assert.Len(t, slices.Compact(times), 1, "%q", times)
}

// Recipes that would split a path at a blank, or take a no for a yes, run nothing.
func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, target, directory string
		args                    []string
		want                    string // "": taken
	}{
		{"a directory", "install", "/stage", nil, ""},
		{"blanks", "install", "/stage one", nil, "DESTDIR must not have blanks"},
		{"a blank at the end", "install", "/stage ", nil, "DESTDIR must not have blanks"},
		{"removal", "uninstall", "/stage", nil, ""},
		{"removal, blanks", "uninstall", "/stage one", []string{"PURGE=yes"}, "DESTDIR must not have blanks"},
		{"purge", "uninstall", "/stage", []string{"PURGE=yes"}, ""},
		{"no purge", "uninstall", "/stage", []string{"PURGE=no"}, `PURGE is yes or is not given: "no"`},
		{"half a purge", "uninstall", "/stage", []string{"PURGE=yes please"}, `PURGE is yes or is not given: "yes please"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"-s", "-n", "-C", "..", row.target, "BINARY=a-program", "DESTDIR=" + row.directory},
				row.args...)
			out, err := exec.Command("make", args...).CombinedOutput()
			if row.want == "" {
				require.NoError(t, err, "%s", out)
				assert.Contains(t, string(out), row.directory+"/")
				return
			}
			require.Error(t, err)
			assert.Contains(t, string(out), row.want)
			assert.NotContains(t, string(out), "pmdaderived/")
		})
	}
}
