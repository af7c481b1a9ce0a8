package test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/dependencies.md lists exactly the modules that are linked into the agent, and the others that go.mod asks for.
func TestDependencies(t *testing.T) {
	list := func(args ...string) []string {
		cmd := exec.Command("go", append([]string{"list"}, args...)...)
		cmd.Dir = ".."
		modules := strings.Fields(string(must(cmd.Output())(t)))
		slices.Sort(modules)
		return slices.Compact(modules)
	}
	listed := func(section string) (modules []string) {
		for _, match := range regexp.MustCompile("(?m)^\\| `(.+?)` \\| [A-Z]").FindAllStringSubmatch(section, -1) {
			modules = append(modules, match[1])
		}
		return modules
	}
	linked, others, found := strings.Cut(string(must(os.ReadFile("../docs/dependencies.md"))(t)), "## For tests")
	require.True(t, found)

	want := list("-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/pmdaderived")
	assert.Equal(t, want, listed(linked))
	direct := list("-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all")
	tools := list("-f", "{{.Module.Path}}", "tool")
	want = slices.DeleteFunc(slices.Concat(direct, tools), func(module string) bool {
		return slices.Contains(want,
			module)
	})
	assert.Equal(t, want, listed(others))
}
