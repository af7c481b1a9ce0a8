package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// waits returns the calls in a file by which a test waits in a way of its own: those of testify that poll until a
// deadline, and time.Sleep, unless the time is that of testing/synctest.
func waits(fset *token.FileSet, file *ast.File) (found []string) {
	called := func(n ast.Node) (call *ast.CallExpr, of, name string) {
		if call, _ = n.(*ast.CallExpr); call != nil {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
				if of, ok := selector.X.(*ast.Ident); ok {
					return call, of.Name, selector.Sel.Name
				}
			}
		}
		return nil, "", ""
	}
	bubbles := false // functions that a bubble calls are of its time, too
	ast.Inspect(file, func(n ast.Node) bool {
		_, of, _ := called(n)
		bubbles = bubbles || of == "synctest"
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		call, of, name := called(n)
		polls := strings.HasPrefix(name, "Eventually") || strings.HasPrefix(name, "Never")
		if (of == "require" || of == "assert") && polls || of == "time" && name == "Sleep" && !bubbles {
			found = append(found, fset.Position(call.Pos()).String())
		}
		return true
	})
	return found
}

// Tests wait in one way, await.Until. A pace, or a fault of a certain length, is no wait: that is rig.Sleep.
func TestLayeringOfWaits(t *testing.T) {
	fset := token.NewFileSet()
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		assert.Empty(t, waits(fset, file), "use await.Until")
		return nil
	}))
}

// The test above would pass with a broken rule; this one shows that the rule bites.
func TestLayeringOfWaitsRules(t *testing.T) {
	for body, bad := range map[string]bool{
		"require.Eventually(t, f, d, d)":       true,
		"assert.EventuallyWithT(t, f, d, d)":   true,
		"require.Neverf(t, f, d, d, s)":        true,
		"time.Sleep(d)":                        true,
		"await.Until(t, s, f)":                 false,
		"synctest.Test(t, f); time.Sleep(d)":   false,
		"rig.Sleep(ctx, d); <-time.After(d)":   false,
		"require.Equal(t, x, y); fsm.Never(x)": false,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x_test.go", "package x\nfunc f() { "+body+" }", 0)
		require.NoError(t, err)
		assert.Equal(t, bad, len(waits(fset, file)) > 0, body)
	}
}
