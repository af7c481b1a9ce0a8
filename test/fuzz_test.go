package test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/security.md lists the fuzz targets that exist.
func TestFuzzTargetsInDocument(t *testing.T) {
	targets := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	var all []string
	require.NoError(t, filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range targets.FindAllStringSubmatch(string(text), -1) {
			all = append(all, found[1])
		}
		return err
	}))
	document := must(os.ReadFile("../docs/security.md"))(t)
	table := regexp.MustCompile(`(?s)\n## Fuzz targets\n(.*?)\n## `).FindStringSubmatch(string(document))
	require.NotNil(t, table)
	listed := regexp.MustCompile(`Fuzz\w+`).FindAllString(table[1], -1)
	assert.Subset(t, all, listed)
	assert.Subset(t, listed, all)
}
