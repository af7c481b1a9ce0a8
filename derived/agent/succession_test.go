package agent

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

func TestSuccessions(t *testing.T) {
	path := stateFile(t)
	ids := load(t, path)
	second, third := testDesc, testDesc
	second.Type, third.Units = pdu.TypeU64, pdu.Units{}
	for _, d := range []pdu.Desc{testDesc, second, third} {
		_, err := ids.bound("changed", "x", d)
		require.NoError(t, err)
	}
	_, err := ids.bound("same", "x", testDesc)
	require.NoError(t, err)
	_, err = ids.named("never.bound")
	require.NoError(t, err)
	require.NoError(t, ids.save())
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	all, err := Successions(path)
	require.NoError(t, err)
	of := func(d pdu.Desc, item int) pdu.Desc {
		d.PMID = pdu.NewPMID(testDomain, 1, item)
		return d
	}
	assert.Equal(t, []Succession{{
		Name: "derived.changed", Now: of(third, 2), Former: []pdu.Desc{of(testDesc, 0), of(second, 1)},
	}}, all)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Len(t, filesIn(t, path), 1)
}

func TestSuccessionsOfAnUnusableFile(t *testing.T) {
	path := stateFile(t)
	_, err := Successions(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, reason := range map[string]string{
		"{": "unexpected end", `{"version":2}`: "version 2, want 1", `{"version":1,"domain":510,"next":-1}`: "out of range",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Successions(path)
		require.ErrorContains(t, err, reason)
		assert.FileExists(t, path, "it is not ours to set aside")
	}
}
