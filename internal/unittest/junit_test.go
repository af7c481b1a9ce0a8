package unittest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
)

func TestWriteJUnit(t *testing.T) {
	f := parsed(t, host+"test a < b\n given ncpu 1\n expect x 1\ntest \"c\"\n given ncpu 1\n expect x 2\n")
	defs := defined(t, "x = ncpu\n")
	var b strings.Builder
	require.NoError(t, WriteJUnit(&b, []Suite{
		{File: "x.test", Results: []Result{
			Run(derived.Language{}, defs, nil, f.Tests[0]),
			Run(derived.Language{}, defs, nil, f.Tests[1]),
		}, Durations: []time.Duration{time.Millisecond, 2 * time.Second}},
		{File: "y.test", Unusable: "y.test:1:1: no\nno\n^"},
	}))
	assert.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="1">
  <testsuite name="x.test" tests="2" failures="1" errors="0" time="2.001000">
    <testcase classname="x.test" name="a &lt; b" file="x.test" line="16" time="0.001000"></testcase>
    <testcase classname="x.test" name="&#34;c&#34;" file="x.test" line="19" time="2.000000">
      <failure message="expect x">x.test:21:9: expect x&#xA;        expected  got&#xA;    0s  2         1&#xA;</failure>
    </testcase>
  </testsuite>
  <testsuite name="y.test" tests="1" failures="0" errors="1" time="0.000000">
    <testcase classname="y.test" name="the file itself" file="y.test" time="0.000000">
      <error message="y.test:1:1: no">y.test:1:1: no&#xA;no&#xA;^</error>
    </testcase>
  </testsuite>
</testsuites>
`, b.String())
}

// failing is a file that cannot be written from some byte on.
type failing struct{ room int }

func (f *failing) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, assert.AnError
	}
	return len(p), nil
}

func TestWriteJUnitFails(t *testing.T) {
	for _, room := range []int{0, 50} {
		require.ErrorIs(t, WriteJUnit(&failing{room}, []Suite{{File: "x.test"}}), assert.AnError)
	}
}
