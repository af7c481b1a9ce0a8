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
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive"
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
	assert.Equal(t, "\r\033[K  0 % of the archive read\r\033[K 27 % of the archive read\r\033[K 50 % of the archive "+
		"read"+
		"\r\033[K 55 % of the archive read\r\033[K 91 % of the archive read\r\033[K100 % of the archive read\r\033[K",
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

// What is wrong in metadata is told, and does not reach the archive of replay, which no tool could open with it.
func TestWrongMetadata(t *testing.T) {
	s := newSite(t)
	base, made := filepath.Join(s.dir, "wrong"), filepath.Join(s.dir, "made")
	for _, ending := range []string{".0", ".meta", ".index"} {
		text := readFile(t, "../../examples/incident"+ending)
		if ending == ".meta" {
			const instances = "\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x05\x00\x00\x00\x0f" // of 60.2: 1, 5, 15
			const free = "\x0f\x00\x04\x3a\x00\x00\x00\x03\xff\xff\xff\xff\x00\x00\x00\x03"      // 60.1.58, instant
			require.Contains(t, text, instances)
			require.Contains(t, text, free)
			text = strings.Replace(text, instances, instances[:12]+"\xff\xff\xff\xfb", 1)
			text = strings.Replace(text, free, free[:15]+"\x00", 1)
		}
		require.NoError(t, os.WriteFile(base+ending, []byte(text), 0o644))
	}
	const wrongInstance = ": -5 is not a valid number of an instance of domain 60.2\n"
	const wrongSemantics = ": 0 is not a valid semantics of metric 60.1.58\n"
	out, errs, exit := s.run("eval", "-a", base, "-z", "-s", "1", "-o", "json", "kernel.all.load")
	assert.Equal(t, commandline.ExitOK, exit)
	assert.Equal(t, `{"time":"2026-11-24T02:00:00Z","values":{"kernel.all.load":{"1 minute":0.3,"5 minute":0.3}}}`+"\n", out)
	assert.Contains(t, errs, wrongInstance)
	assert.Contains(t, errs, wrongSemantics)
	conf := filepath.Join(s.dir, "x.conf")
	writeFile(t, conf, "load = kernel.all.load * 2\nfree = mem.util.available / 1024\n")
	_, errs, exit = s.run("replay", "-a", base, "-c", conf, made)
	assert.Equal(t, commandline.ExitOK, exit, errs)
	assert.Contains(t, errs, wrongInstance)
	assert.Contains(t, errs, "1 metric not written, such as derived.free: operands are not in the archive\n")
	a, err := archive.Open(made)
	require.NoError(t, err)
	defer a.Close()
	assert.Empty(t, a.Damage())
	loads, err := a.AllInstances(pdu.NewInDom(60, 2))
	require.NoError(t, err)
	assert.Equal(t, []pdu.Instance{{ID: 1, Name: "1 minute"}, {ID: 5, Name: "5 minute"}}, loads)
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
