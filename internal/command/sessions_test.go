package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/commandline"
)

// TestSessions runs the sessions in testdata/sessions. Each is an archive (txtar) whose files are used in their order:
// the file "session" has commands with their output, "stdin" is the standard input from then on, any other file is
// written to the site's folder DIR, where the program runs. Output is standard output, then standard error behind !,
// then the exit status if it is not 0. EXAMPLES is the folder of the examples. go test -update writes the present
// output.
func TestSessions(t *testing.T) {
	archives := must(filepath.Glob("testdata/sessions/*.txtar"))(t)
	require.NotEmpty(t, archives)
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			path, examples := must(filepath.Abs(path))(t), must(filepath.Abs("../../examples"))(t)
			archive := must(txtar.ParseFile(path))(t)
			s := newSite(t)
			s.examples = examples
			t.Chdir(s.dir)
			for i, file := range archive.Files {
				switch text := string(file.Data); file.Name {
				case "stdin":
					s.stdin = text
				case "session":
					got := s.session(text)
					if *update {
						archive.Files[i].Data = []byte(got)
					} else {
						assert.Equal(t, text, got, "go test ./internal/command -run TestSessions -update writes it")
					}
				default:
					writeFile(t, file.Name, text)
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
		})
	}
}

// session runs the commands of a session and returns it with what they print now.
func (s *site) session(text string) string {
	s.t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(line, "$ pmdaderived ")
		if !ok {
			continue
		}
		out, errs, exit := s.run(words(strings.NewReplacer("DIR", s.dir, "EXAMPLES", s.examples).Replace(command))...)
		b.WriteString(line + out)
		for line := range strings.Lines(errs) {
			b.WriteString("! " + line)
		}
		if exit != commandline.ExitOK {
			fmt.Fprintf(&b, "exit status %d\n", exit)
		}
	}
	return strings.NewReplacer(s.dir, "DIR", s.examples, "EXAMPLES").Replace(b.String())
}
