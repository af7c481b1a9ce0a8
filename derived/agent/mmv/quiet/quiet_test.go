package quiet

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHush(t *testing.T) {
	missing := t.TempDir() + "/pcp.conf"
	t.Setenv(variable, "/theirs")
	require.NoError(t, hush(missing))
	assert.Equal(t, "/theirs", os.Getenv(variable))

	require.NoError(t, os.Unsetenv(variable))
	require.NoError(t, hush(os.Args[0]))
	assert.NotContains(t, os.Environ(), variable+"="+empty, "there is a file")
	require.NoError(t, hush(missing))
	assert.Equal(t, empty, os.Getenv(variable))
}
