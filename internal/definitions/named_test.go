package definitions

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/growth"
)

// Whether a file is named is decided once, however many files are named and however many definitions it has.
func TestNamedGrowth(t *testing.T) {
	t.Chdir(t.TempDir())
	growth.Check(t, 100, func(n int) func() {
		var files []string
		for i := range n {
			text := ""
			for j := range 10 {
				text += fmt.Sprintf("a%d.b%d = %d\n", i, j, j)
			}
			file := filepath.Join(fmt.Sprint("of", n), fmt.Sprint(i, ".conf"))
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			files = append(files, file)
		}
		return func() {
			named := ReadNamed(Reader{Paths: []string{}}, files)
			assert.Len(t, named.Own(), 10*n)
		}
	})
}
