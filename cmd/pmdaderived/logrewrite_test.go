package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent/identity"
	"pmdaderived/pdu"
)

func TestRewritingRules(t *testing.T) {
	was := pdu.Desc{
		PMID: pdu.NewPMID(510, 1, 0), Type: pdu.TypeU32, InDom: pdu.NewInDom(60, 1), Sem: pdu.SemInstant,
		Units: pdu.Units{Space: 1, Time: -1, SpaceScale: pdu.SpaceKbyte, TimeScale: pdu.TimeSec},
	}
	for _, row := range []struct {
		name   string
		change func(*pdu.Desc)
		want   string
	}{
		{"wider type", func(d *pdu.Desc) { d.Type = pdu.TypeU64 }, "\nmetric 510.1.0 { pmid -> 510.1.1 type -> U64 }\n"},
		{"signed, and wide enough", func(d *pdu.Desc) { d.Type = pdu.Type64 }, "\nmetric 510.1.0 { pmid -> 510.1.1 type -> 64 }\n"},
		{"narrower type", func(d *pdu.Desc) { d.Type = pdu.Type32 }, "# pmlogrewrite stops at a value that does not fit the type 32.\nmetric 510.1.0 { pmid -> 510.1.1 type -> 32 }\n"},
		{"string", func(d *pdu.Desc) { d.Type = pdu.TypeString }, "# Only numbers"},
		{"discrete", func(d *pdu.Desc) { d.Sem = pdu.SemDiscrete }, "\nmetric 510.1.0 { pmid -> 510.1.1 sem -> DISCRETE }\n"},
		{"counter", func(d *pdu.Desc) { d.Sem = pdu.SemCounter }, "# Values cannot be converted"},
		{"scale", func(d *pdu.Desc) { d.Units.SpaceScale = pdu.SpaceByte }, "\nmetric 510.1.0 { pmid -> 510.1.1 units -> 1,-1,0,BYTE,SEC,0 rescale }\n"},
		{"dimension", func(d *pdu.Desc) { d.Units.Time, d.Units.TimeScale = 0, 0 }, "# The units have"},
		{"other instances", func(d *pdu.Desc) { d.InDom = pdu.NewInDom(60, 2) }, "# The instances"},
		{"singular", func(d *pdu.Desc) { d.InDom = pdu.NoInDom }, "# The instances are not the same. Give the former metric another name to merge archives:\n# metric 510.1.0 { name -> derived.m_510_1_0 }\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			now := was
			now.PMID = pdu.NewPMID(510, 1, 1)
			row.change(&now)
			var b strings.Builder
			printRules(&b, map[string]identity.Remembered{"m": {Desc: now, Former: []pdu.Desc{was}}})
			assert.Contains(t, b.String(), "# derived.m\n#   was 510.1.0: U32, instant, Kbyte / sec, instances of 60.1\n#   is  510.1.1: ")
			assert.Contains(t, b.String(), row.want)
		})
	}
}

func TestRewritingRulesOfExtraUnits(t *testing.T) {
	units := func(text string) pdu.Units {
		u, _, err := pdu.ParseUnits(text)
		require.NoError(t, err)
		return u
	}
	for _, row := range []struct{ was, now, want string }{
		{"voltage (V)", "voltage (mV)", "{ pmid -> 510.1.1 extraunits -> 0,0,0,0,0,0,VOLTAGE,MV rescale }"},
		{"power (W) sec", "power (kW) hour", "{ pmid -> 510.1.1 extraunits -> 0,1,0,0,HOUR,0,POWER,KW rescale }"},
		{"temperature (F)", "temperature (K)", "{ pmid -> 510.1.1 extraunits -> 0,0,0,0,0,0,TEMPERATURE,K rescale }"},
		{"sec / current (A)", "min / current (A)", "{ pmid -> 510.1.1 units -> 0,1,0,0,MIN,0 rescale }"},
		{"sec / current (A)", "sec / current (mA)", "# There is no conversion to these units."},
		{"voltage (V)", "current (A)", "# The units have another dimension."},
		{"voltage (V)", "", "# The units have another dimension."},
	} {
		was := pdu.Desc{PMID: pdu.NewPMID(510, 1, 0), Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant, Units: units(row.was)}
		now := was
		now.PMID, now.Units = pdu.NewPMID(510, 1, 1), units(row.now)
		var b strings.Builder
		printRules(&b, map[string]identity.Remembered{"m": {Desc: now, Former: []pdu.Desc{was}}})
		assert.Contains(t, b.String(), row.want)
	}
}

func TestRuleUnits(t *testing.T) {
	for want, u := range map[string]pdu.Units{
		"0,0,0,0,0,0":           {},
		"0,0,1,0,0,ONE":         {Count: 1},
		"0,-1,1,0,HOUR,6":       {Count: 1, Time: -1, TimeScale: pdu.TimeHour, CountScale: 6},
		"-1,2,-2,EBYTE,NSEC,-3": {Space: -1, Time: 2, Count: -2, SpaceScale: 6, CountScale: -3},
	} {
		assert.Equal(t, want, ruleUnits(u))
	}
}

func TestLogRewriteWithoutState(t *testing.T) {
	s := newSite(t)
	stdout, stderr := s.fails("logrewrite", "--state", filepath.Join(t.TempDir(), "none"))
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "pmdaderived logrewrite: open ")
	_, stderr, exit := s.run("logrewrite", "archive")
	assert.Equal(t, exitUsage, exit)
	assert.Contains(t, stderr, `unexpected argument "archive"`)

	state := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(state, []byte(`{"version":1,"domain":300}`), 0o600))
	_, stderr = s.fails("logrewrite", "--state", state, "-o", filepath.Join(state, "x"))
	assert.Contains(t, stderr, "not a directory")
	stdout = s.succeeds("logrewrite", "--state", state)
	assert.Equal(t, "# Rules for pmlogrewrite: they change former derived metrics into the present ones.\nglobal { }\n", stdout)
}
