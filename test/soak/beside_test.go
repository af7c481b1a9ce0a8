package soak

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/rig"
)

// printed is what pmrep prints of an archive, a line for each word.
func printed(t *testing.T, prefix, text string) recording {
	t.Helper()
	var lines []rig.Line
	for line := range strings.FieldsSeq(text) {
		lines = append(lines, rig.Line{Text: strings.ReplaceAll(line, "@", prefix)})
	}
	r, err := newRecording(prefix, lines)
	require.NoError(t, err)
	return r
}

// Each row is what we have recorded where libpcp has the same values in each of four minutes, or others, and what the judge has to say.
func TestBeside(t *testing.T) {
	const heading, libpcp = "Time,@rate,@step-m0\n", "0,,\n60,1e9,60\n120,1e9,60\n180,1e9,60\n"
	const delayed = "0,,\n60,1e9,60\n125,1e9,65\n180,1e9,55\n"
	for _, row := range []struct {
		name, ours     string
		wrong, missing int64
		libpcp         string
	}{
		{"all", libpcp, 0, 0, ""},
		{"a little later", "1,,\n61,1e9,60\n121,1.001e9,60.9\n181,1e9,59.1\n", 0, 0, ""},
		{"we have begun later", "60,1e9,60\n120,1e9,60\n180,1e9,60\n", 0, 0, ""},
		{"we have ended before", "0,,\n60,1e9,60\n120,1e9,60\n", 0, 0, ""},
		{"more than libpcp", "0,1e9,60\n60,1e9,60\n120,1e9,60\n180,1e9,60\n", 0, 0, ""},
		{"no value", "0,,\n60,1e9,60\n120,,60\n180,1e9,60\n", 0, 1, ""},
		{"no record", "0,,\n60,1e9,60\n180,1e9,60\n", 0, 1, ""},
		{"another value", "0,,\n60,1e9,60\n120,1.02e9,60\n180,1e9,60\n", 1, 0, ""},
		{"two intervals at once", "0,,\n60,1e9,60\n120,1e9,120\n180,1e9,60\n", 1, 0, ""},
		{"delayed, the rest is in the next one", "0,,\n60,1e9,60\n125,1e9,60\n180,1e9,60\n", 0, 0, delayed},
		{"delayed, and not late ourselves", delayed, 0, 0, delayed},
		{"delayed, the rest is nowhere", "0,,\n60,1e9,60\n125,1e9,60\n180,1e9,55\n", 1, 0, delayed},
		{"delayed, and too little", "0,,\n60,1e9,60\n125,1e9,50\n180,1e9,70\n", 2, 0, delayed},
		{"delayed, and too much", "0,,\n60,1e9,60\n125,1e9,70\n180,1e9,50\n", 2, 0, delayed},
		{"delayed, and another rate", "0,,\n60,1e9,60\n125,0.9e9,65\n180,1.1e9,55\n", 2, 0, delayed},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log strings.Builder
			y := &told{scene: &scene{tally: &tally{log: &log}}, plan: LiePlan{Recorded: time.Minute}}
			y.agree(printed(t, "derived.beside.", heading+row.ours), printed(t, "libpcp.", heading+cmp.Or(row.libpcp, libpcp)))
			assert.Equal(t, row.wrong, y.tally.problems[wrongValue].Load(), log.String())
			assert.Equal(t, row.missing, y.tally.problems[missingValue].Load(), log.String())
			assert.Positive(t, y.compared)
		})
	}
	_, err := newRecording("derived.", nil)
	assert.Error(t, err, "nothing is printed")
	assert.Equal(t, len(besideNames(libpcps)), strings.Count(fmt.Sprintf(besideText, libpcps), "\n"))
}
