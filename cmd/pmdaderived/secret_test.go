package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/commandline"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
)

// told is all that a client can be told about metrics, and what the daemon writes.
func (p *daemonProcess) told(names ...string) string {
	p.t.Helper()
	var all strings.Builder
	for _, name := range names {
		id, ok := p.pmid(510, name)
		if !ok {
			id = p.request(&pdu.PMNSNames{Names: []string{name}}).(*pdu.PMNSIDs).PMIDs[0]
		}
		for _, kind := range []pdu.TextType{pdu.TextPMID | pdu.TextOneLine, pdu.TextPMID | pdu.TextHelp} {
			if text, ok := p.request(&pdu.TextReq{Ident: uint32(id), Type: kind}).(*pdu.Text); ok {
				all.WriteString(text.Text)
			}
		}
		if labels, ok := p.request(&pdu.LabelReq{Ident: uint32(id), Type: pdu.LabelItem}).(*pdu.Labels); ok {
			for _, set := range labels.Sets {
				all.WriteString(set.JSON)
			}
		}
		for _, set := range p.request(&pdu.Fetch{PMIDs: []pdu.PMID{id}}).(*pdu.Result).Sets {
			for _, v := range set.Values {
				all.Write(v.Bytes)
				all.WriteString("\n")
			}
		}
	}
	return all.String()
}

// Metrics, help texts, labels, the log and the state file have no text of a file that not everybody may read.
func TestSecretTextsAreNotShown(t *testing.T) {
	const confidential = "confidential"
	text := "ok = matchinst(/" + confidential + "1/, disk.dev.read)\nok(oneline) = " +
		confidential + "2\nok(helptext) = " + confidential + "3\nok(labels) = {\"label\": \"" + confidential + "10\"}\n" +
		"ok(labels) = {" + confidential + "11}\n" +
		"bad = mkconst(1) + " + confidential + "4 +\n" + confidential + "5\nconstant = 1 + count(" +
		confidential + ".six)\n#control " + confidential + "=7\n" +
		"number = mkconst(42, units=" + confidential + ")\nwrong = mkconst(1, type=u32) + \"" +
		confidential + "8\"\nfine = 42 + 0 * 1234567\nfine(oneline) = \"" + confidential + "9\n"
	dir := folder(t, "public = derived.ok + derived.wrong + derived.constant\n")
	secret := filepath.Join(dir, "secret.conf")
	require.NoError(t, os.WriteFile(secret, []byte(text), 0o640))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "indom.conf"), []byte(confidential+"\n"), 0o640))
	t.Setenv("PCP_INDOM_CONFIG", filepath.Join(dir, "indom.conf"))
	p := startDaemon(t, dir, "--log-level", "info", "-c", filepath.Join(dir, "conf")+":"+secret)
	p.handshake()
	told := p.told("derived.ok", "derived.fine", "derived.public", "derived.control.definition.state",
		"derived.control.definition.error",
		"derived.control.definition.expression", "derived.control.file.state", "derived.control.file.error")
	assert.Contains(t, told, served.HiddenText)
	assert.Contains(t, told, secret+":6: "+served.HiddenProblem)
	assert.Contains(t, told, "derived.ok + derived.wrong", "others are shown")
	require.NoError(t, p.to.Close())
	assert.Equal(t, commandline.ExitOK, p.end(), p.log())
	state := readFile(t, filepath.Join(dir, "state"))
	for what, shown := range map[string]string{"metrics": told, "log": p.log(), "state": string(state)} {
		assert.NotContains(t, shown, confidential, what)
		assert.NotContains(t, shown, "1234567", what)
	}

	// A user who may read the file sees its text.
	var said bytes.Buffer
	assert.NotEqual(t, commandline.ExitOK, run(t.Context(), []string{"check", secret}, os.Getenv, nil, &said, &said))
	assert.Contains(t, said.String(), confidential+"4")
}

// The name of a file may be any bytes. None of them moves a terminal's cursor or begins a line, in metrics and in the
// log.
func TestNamesOfFilesAreOneLine(t *testing.T) {
	dir := folder(t, "a = 42\n")
	odd := filepath.Join(dir, "odd\nlevel=error msg=forged \x1b[2J\xff")
	require.NoError(t, os.WriteFile(odd, []byte("b = 1 +\nc = \"\x1b\" \n"), 0o644))
	p := startDaemon(t, dir, "-c", odd+"/none:"+odd)
	p.handshake()
	told := p.told("derived.control.definition.error", "derived.control.definition.expression",
		"derived.control.file.error")
	require.NoError(t, p.to.Close())
	assert.Equal(t, commandline.ExitOK, p.end(), p.log())
	assert.NotContains(t, told, "\x1b")
	assert.NotContains(t, told, "\nlevel=")
	assert.Contains(t, told, `odd\nlevel=error msg=forged \x1b[2J\xff:1:`)
	assert.NotContains(t, p.log(), "\x1b")
	for line := range strings.Lines(p.log()) {
		assert.False(t, strings.HasPrefix(line, "level="), line)
	}
}
