package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const exampleAgent = "../pmda/examples/dice"

// library returns the packages that docs/library.md promises to other programs.
func library() []string {
	return []string{"pdu", "pmda", "pmda/pmapi", "pmda/pmapi/archive", "pmda/pmapi/pmapitest", "pmda/pmdatest"}
}

// promisedTypes has types of other packages for which the promised packages have a name of their own. Nothing else of
// those packages is promised.
var promisedTypes = map[string][]string{
	"pmda/pmapi/archive/logfile": {"DamageError", "Label"},
}

// The exported names of the promised packages change only on purpose (-update writes them). docs/library.md says which
// changes are allowed.
func TestLibraryInterface(t *testing.T) {
	for _, path := range slices.AppendSeq(library(), maps.Keys(promisedTypes)) {
		t.Run(path, func(t *testing.T) {
			got := exported(t, path)
			golden := filepath.Join("testdata", "library", strings.ReplaceAll(path, "/", "_")+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want := must(os.ReadFile(golden))(t)
			for _, line := range lost(string(want), got) {
				t.Errorf("gone or changed: %s", line)
			}
			for _, line := range lost(got, string(want)) {
				t.Errorf("new: %s", line)
			}
			if got != string(want) && !t.Failed() {
				t.Error("the same lines in other places")
			}
		})
	}
}

// lost returns the lines of one text that another does not have.
func lost(from, in string) []string {
	var found []string
	for line := range strings.Lines(from) {
		if !strings.Contains(in, line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// exported returns the declarations of a package that others see, one a line where Go's form allows it.
func exported(t *testing.T, path string) string {
	t.Helper()
	positions := token.NewFileSet()
	var files []*ast.File
	names := must(filepath.Glob(filepath.Join("..", path, "*.go")))(t)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(positions, name, nil, parser.SkipObjectResolution) // without comments
		require.NoError(t, err)
		files = append(files, file)
	}
	p := must(doc.NewFromFiles(positions, files, module+"/"+path))(t)

	var text bytes.Buffer
	show := func(decl ast.Node) {
		require.NoError(t, (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&text, positions, decl))
		text.WriteByte('\n')
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			show(v.Decl)
		}
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			f.Decl.Body = nil
			show(f.Decl)
		}
	}
	promised, some := promisedTypes[path]
	if !some {
		values(p.Consts)
		values(p.Vars)
		functions(p.Funcs)
	}
	for _, kind := range p.Types {
		if some && !slices.Contains(promised, kind.Name) {
			continue
		}
		show(kind.Decl)
		values(kind.Consts)
		values(kind.Vars)
		functions(kind.Funcs)
		functions(kind.Methods)
	}
	return text.String()
}

// Another module uses the packages as docs/library.md says, by a replace line, and builds the agent that the
// page tells people to copy.
func TestLibraryInAnotherModule(t *testing.T) {
	repository := must(filepath.Abs(".."))(t)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, sources{os.DirFS(exampleAgent)}))
	sums := must(os.ReadFile("../go.sum"))(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644))

	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "CGO_ENABLED=0", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %s\n%s", strings.Join(args, " "), out)
		return string(out)
	}
	run("mod", "init", "example.org/dice")
	for _, command := range documentedModule(t) {
		run(strings.Fields(strings.ReplaceAll(command, "/path/to/pmdaderived", repository))[1:]...)
	}
	run("build", "-o", "pmdadice", ".")
	assert.FileExists(t, filepath.Join(dir, "pmdadice"))
	assert.Contains(t, run("list", "-m", module), module+" v0.0.0 => "+repository)
}

// documentedModule returns the commands of docs/library.md that tell another module about this one.
func documentedModule(t *testing.T) []string {
	t.Helper()
	text := must(os.ReadFile("../docs/library.md"))(t)
	var commands []string
	for line := range strings.Lines(string(text)) {
		if line, ok := strings.CutPrefix(strings.TrimSpace(line), "go mod edit "); ok {
			commands = append(commands, "go mod edit "+line)
		}
	}
	require.Len(t, commands, 2, "require and replace")
	return commands
}

// sources is a folder of Go without tests and other files.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	kept := entries[:0]
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".go") && !strings.HasSuffix(entry.Name(), "_test.go") {
			kept = append(kept, entry)
		}
	}
	return kept, err
}

// The page names each package that it promises.
func TestLibraryPage(t *testing.T) {
	text := must(os.ReadFile("../docs/library.md"))(t)
	for _, path := range library() {
		assert.Contains(t, string(text), fmt.Sprintf("| `%s` |", path))
	}
}
