package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/commandline"
)

// A terminal is shown how far an archive has been read, in all passes.
func TestProgress(t *testing.T) {
	start := time.Unix(1000, 0)
	var out bytes.Buffer
	p := &progress{w: &out, start: start, end: start.Add(100 * time.Second), passes: 2}
	for _, second := range []int{-10, 50, 100, 0, 80, 200} {
		p.shown = time.Time{}
		p.recordRead(start.Add(time.Duration(second) * time.Second))
	}
	p.clear()
	assert.Equal(t, "\r\033[K  0 % of the archive read\r\033[K 25 % of the archive read\r\033[K 50 % of the archive "+
		"read"+
		"\r\033[K 50 % of the archive read\r\033[K 90 % of the archive read\r\033[K100 % of the archive read\r\033[K",
		out.String())
	out.Reset()
	p = &progress{w: &out, began: time.Now(), passes: 1}
	p.recordRead(start)
	p.clear()
	assert.Empty(t, out.String(), "it does not take long")
	terminal := must(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t) // a device, too
	defer terminal.Close()
	assert.Equal(t, terminal, (&run{stderr: &output{w: terminal}}).progress(start, start).w)
	assert.Nil(t, (&run{stderr: &output{w: &out}}).progress(start, start).w)
}

// The readable part of a damaged archive is read, and the damage is reported.
func TestBrokenArchive(t *testing.T) {
	s := newSite(t)
	for _, ending := range []string{".0", ".meta", ".index"} {
		text := readFile(t, "../../examples/incident"+ending)
		if ending == ".0" {
			text = text[:len(text)/2]
		}
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, "half"+ending), []byte(text), 0o644))
	}
	out, errs, exit := s.run("eval", "-a", filepath.Join(s.dir, "half"), "-Z", "UTC", "-t", "5min", "-o", "csv",
		"max_inst(kernel.all.load)")
	assert.Equal(t, commandline.ExitOK, exit)
	assert.Contains(t, out, "2026-11-24 02:10:00.000,0.3\n")
	assert.NotContains(t, out, "02:20")
	assert.Contains(t, errs, "half.0 at byte ")
	conf := filepath.Join(s.dir, "x.conf")
	writeFile(t, conf, "x = max_inst(kernel.all.load)\n")
	for _, command := range [][]string{{"check", conf}, {"explain", "hinv.ncpu + 1"}, {"test", "--record=1000", conf}} {
		_, errs, exit := s.run(append(command, "-a", filepath.Join(s.dir, "half"))...)
		assert.Equal(t, commandline.ExitOK, exit, errs)
		assert.Equal(t, 1, strings.Count(errs, "half.0 at byte "), errs)
	}
	out, errs, exit = s.run("replay", "-a", filepath.Join(s.dir, "half"), filepath.Join(s.dir, "out"))
	assert.Equal(t, commandline.ExitFailure, exit, out)
	assert.Contains(t, errs, "no metric can be written")
}

// The variable TZ may have any form that POSIX has. A zone that is not known is UTC, with a warning.
func TestTimeZoneVariable(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct{ zone, first, complaint string }{
		{"UTC", "02:00:00", ""},
		{":Europe/Berlin", "03:00:00", ""},
		{"IST-5:30", "07:30:00", ""},
		{"EST5EDT,M3.2.0,M11.1.0", "21:00:00", ""},
		{"Nowhere/At_All", "02:00:00", `TZ: "Nowhere/At_All" is not a valid time zone`},
	} {
		s.zone = tt.zone
		out, errs, exit := s.run("eval", "-a", "../../examples/incident", "-O", "@2026-11-24T02:00:00Z", "-s", "1", "-o", "csv",
			"max_inst(kernel.all.load)")
		assert.Equal(t, commandline.ExitOK, exit, errs)
		assert.Contains(t, out, " "+tt.first+".000,", tt.zone)
		assert.Contains(t, errs, tt.complaint)
		assert.Equal(t, tt.complaint == "", errs == "", errs)
	}
}
