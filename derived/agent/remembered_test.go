package agent

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

func TestReadRemembered(t *testing.T) {
	path := stateFile(t)
	_, err := ReadRemembered(path)
	require.ErrorIs(t, err, fs.ErrNotExist)

	ids := load(t, path)
	_, err = ids.bound("served", "1 + 1", pdu.Desc{Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete})
	require.NoError(t, err)
	_, err = ids.named("missing")
	require.NoError(t, err)
	require.NoError(t, ids.save())
	all, err := ReadRemembered(path)
	require.NoError(t, err)
	assert.Equal(t, map[string]Remembered{"served": {Bound: true, Text: "1 + 1"}, "missing": {}}, all)

	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = ReadRemembered(path)
	require.Error(t, err)
}
