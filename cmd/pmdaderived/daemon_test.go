package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/internal/await"
	"pmdaderived/internal/commandline"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
)

// childMark in the environment makes the test binary the program.
const childMark = "PMDADERIVED_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMark) != "" {
		main()
	}
	os.Exit(m.Run())
}

// daemonProcess is the program behind the pipes of a pmcd, with directories of its own.
type daemonProcess struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	to     io.WriteCloser
	from   io.ReadCloser
	reader *pdu.Reader
	writer *pdu.Writer
}

// daemonCommand returns the program with an environment of its own, in a folder that has a definition file. Its
// pcp.conf is empty: the machine's may differ, and there may be none.
func daemonCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
	t.Cleanup(cancel)
	conf := filepath.Join(dir, "pcp.conf")
	require.NoError(t, os.WriteFile(conf, nil, 0o644))
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), childMark+"=1", "PCP_CONF="+conf, "PCP_VAR_DIR="+dir, "PCP_SYSCONF_DIR="+dir,
		"PCP_RUN_DIR="+dir,
		"PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func startDaemon(t *testing.T, dir string, args ...string) *daemonProcess {
	t.Helper()
	return startDaemonAs(t, nil, dir, args...)
}

// ordinary is a user who is not root, and nil if the tests are run by one.
func ordinary() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	const nobody = 65534
	return &syscall.Credential{Uid: nobody, Gid: nobody}
}

// startDaemonAs starts a copy of the program as user, in a folder where that user may run it. nil means the present
// user.
func startDaemonAs(t *testing.T, user *syscall.Credential, dir string, args ...string) *daemonProcess {
	t.Helper()
	// As the user who starts it, root or not.
	args = append([]string{
		"-U", "root", "-l", filepath.Join(dir, "derived.log"), "--state",
		filepath.Join(dir, "state"), "-c", filepath.Join(dir, "conf"),
	}, args...)
	p := &daemonProcess{t: t, dir: dir, cmd: daemonCommand(t, dir, args...)}
	if user != nil {
		p.cmd.Path = filepath.Join(dir, "program")
		require.NoError(t, os.WriteFile(p.cmd.Path, must(os.ReadFile(os.Args[0]))(t), 0o755))
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	}
	var err error
	p.to, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	p.from, err = p.cmd.StdoutPipe()
	require.NoError(t, err)
	stderr := must(os.Create(filepath.Join(dir, "stderr")))(t)
	defer stderr.Close()
	p.cmd.Stderr = stderr
	p.reader, p.writer = pdu.NewReader(p.from, pdu.ClientLimit), pdu.NewWriter(p.to)
	require.NoError(t, p.cmd.Start())
	return p
}

// next reads a PDU; anything else on the pipe fails the test.
func (p *daemonProcess) next() pdu.Message {
	p.t.Helper()
	f := must(p.reader.Next())(p.t)
	m := must(pdu.Decode(f))(p.t)
	return m
}

func (p *daemonProcess) request(m pdu.Message) pdu.Message {
	p.t.Helper()
	require.NoError(p.t, p.writer.Write(m, 0))
	return p.next()
}

func (p *daemonProcess) handshake() *pdu.Creds {
	p.t.Helper()
	creds := p.next().(*pdu.Creds)
	require.NoError(p.t, p.writer.Write(&pdu.Creds{Version: pdu.ProtocolVersion}, 0))
	return creds
}

// known reports whether there is a definition.
func (p *daemonProcess) known(name string) bool {
	p.t.Helper()
	_, ok := p.pmid(510, name)
	return ok
}

// pmid returns the PMID of a definition, which has no name where no pmcd has been asked for its operands. Its number in
// the domain of definitions says which it is.
func (p *daemonProcess) pmid(domain int, name string) (pdu.PMID, bool) {
	p.t.Helper()
	reply, ok := p.request(&pdu.InstanceReq{
		InDom: pdu.NewInDom(domain, 0), Inst: pdu.NoInst, Name: derived.ShortName(name),
	}).(*pdu.InstanceReply)
	if !ok {
		return pdu.NoPMID, false
	}
	return pdu.NewPMID(domain, 1, int(reply.Instances[0].ID)), true
}

// end waits for the exit and checks that nothing more was written to the pipe.
func (p *daemonProcess) end() (status int) {
	p.t.Helper()
	rest := must(io.ReadAll(p.from))(p.t)
	assert.Empty(p.t, rest)
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

func (p *daemonProcess) log() string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "derived.log"))
	return string(text) + p.stderr()
}

func (p *daemonProcess) stderr() string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "stderr"))
	return string(text)
}

// folder has one definition file.
func folder(t *testing.T, definitions string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // as where everybody may read definitions
	require.NoError(t, os.WriteFile(filepath.Join(dir, "conf"), []byte(definitions), 0o644))
	return dir
}

// A daemon that pmcd does not wait for any more ends at once, and leaves the log to the one that has come in its place.
func TestDaemonThatNobodyAwaits(t *testing.T) {
	dir := folder(t, "a = 42\n")
	log := filepath.Join(dir, "derived.log")
	require.NoError(t, os.WriteFile(log, []byte("of the successor\n"), 0o644))
	cmd := daemonCommand(t, dir, "-U", "root", "-l", log, "-c", filepath.Join(dir, "conf"))
	in := must(cmd.StdinPipe())(t)
	defer in.Close()
	from, to, err := os.Pipe()
	require.NoError(t, err)
	defer to.Close()
	require.NoError(t, from.Close())
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = to, &stderr
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	assert.Equal(t, commandline.ExitFailure, exit.ExitCode())
	assert.Regexp(t, `level=error msg=cannot write to pmcd error=.*broken pipe`, stderr.String())
	text := readFile(t, log)
	assert.Equal(t, "of the successor\n", string(text))
	previous, _ := os.ReadFile(log + ".prev") // root makes the file, for an account that cannot
	assert.Empty(t, previous)
}

func TestDaemonEndsWithThePipe(t *testing.T) {
	dir := folder(t, "a = 42\n")
	started := time.Now()
	p := startDaemon(t, dir, "-d", "77")
	creds := p.handshake()
	assert.Less(t, time.Since(started), 2*time.Second, "pmcd waits 3 s at most and serves nobody meanwhile")
	assert.EqualValues(t, pdu.ProtocolVersion, creds.Version)
	assert.NotZero(t, creds.Features&pdu.FeatureAuth)
	id, ok := p.pmid(77, "derived.a")
	require.True(t, ok)
	sets := p.request(&pdu.Fetch{PMIDs: []pdu.PMID{id}}).(*pdu.Result).Sets
	assert.Equal(t, pdu.ErrAgain, sets[0].Code, "no pmcd has been asked yet")
	require.NoError(t, p.to.Close())
	assert.Equal(t, commandline.ExitOK, p.end(), p.log())
	assert.Empty(t, p.stderr(), "all goes to the log")
	assert.Contains(t, p.log(), "Log for pmdaderived on ")
	assert.Contains(t, p.log(), "pmcd closed the pipe, exiting")
	assert.FileExists(t, filepath.Join(dir, "state"))
}

func TestDaemonRemembersIdentities(t *testing.T) {
	dir := folder(t, "a = 42\nb = 43\n")
	ask := func() pdu.PMID {
		p := startDaemon(t, dir)
		p.handshake()
		id, ok := p.pmid(510, "derived.b")
		require.True(t, ok)
		require.NoError(t, p.to.Close())
		assert.Equal(t, commandline.ExitOK, p.end(), p.log())
		return id
	}
	id := ask()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "conf"), []byte("new = 1\nb = 43\n"), 0o644))
	assert.Equal(t, id, ask())
	assert.FileExists(t, filepath.Join(dir, "derived.log.prev"), "the log of the run before")
}

func TestDaemonEndsBySignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			p := startDaemon(t, folder(t, "a = 42\n"))
			p.handshake()
			assert.True(t, p.known("derived.a"))
			require.NoError(t, p.cmd.Process.Signal(sig))
			assert.Equal(t, commandline.ExitOK, p.end(), p.log())
			assert.Contains(t, p.log(), "exiting on a signal")
		})
	}
}

func TestDaemonReloadsBySignal(t *testing.T) {
	p := startDaemon(t, folder(t, "a = 42\n"))
	p.handshake()
	id := p.request(&pdu.PMNSNames{Names: []string{"derived.control.reload"}}).(*pdu.PMNSIDs).PMIDs[0]
	reloads := func() uint64 {
		return p.request(&pdu.Fetch{PMIDs: []pdu.PMID{id}}).(*pdu.Result).Sets[0].Values[0].Bits
	}
	assert.Zero(t, reloads())
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	await.Until(t, "there was a reload", func() bool { return reloads() == 1 })
	assert.True(t, p.known("derived.a"))
	require.NoError(t, p.to.Close())
	assert.Equal(t, commandline.ExitOK, p.end())
}

// The daemon reloads without a signal. It does not log problems again that it has logged before.
func TestDaemonReloadsByItself(t *testing.T) {
	dir := folder(t, "a = 42\nbroken = 1 +\n")
	p := startDaemon(t, dir)
	p.handshake()
	assert.False(t, p.known("derived.b"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "conf"), []byte("a = 42\nbroken = 1 +\nb = 43\nworse = 2 *\n"),
		0o644))
	await.Until(t, "derived.b is known", func() bool { return p.known("derived.b") })
	require.NoError(t, p.to.Close())
	assert.Equal(t, commandline.ExitOK, p.end())
	assert.Equal(t, 1, strings.Count(p.log(), "conf:2:12: "), p.log())
	assert.Equal(t, 1, strings.Count(p.log(), "conf:4:11: "), p.log())
}

// A mask removes what the directories before its own define, and gives it back when it goes.
func TestDaemonMasks(t *testing.T) {
	dir := folder(t, "")
	own := filepath.Join(dir, "own")
	require.NoError(t, os.Mkdir(own, 0o755))
	shipped := filepath.Join(dir, "shipped")
	require.NoError(t, os.Mkdir(shipped, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(shipped, "host.conf"), []byte("a.b = 1\na.c = 2\nd = 3\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(shipped, "more.conf"), []byte("e = 4\n"), 0o644))
	p := startDaemon(t, dir, "-c", shipped+":"+own)
	p.handshake()
	served := func(want ...string) {
		t.Helper()
		await.Until(t, "these are served: "+strings.Join(want, " "), func() bool {
			var known []string
			for _, name := range []string{"a.b", "a.c", "d", "e"} {
				if p.known("derived." + name) {
					known = append(known, name)
				}
			}
			return slices.Equal(want, known)
		})
	}
	served("a.b", "a.c", "d", "e")
	file, link := filepath.Join(own, "x.conf"), filepath.Join(own, "more.conf")
	require.NoError(t, os.WriteFile(file, []byte("# pmdaderived:mask derived.a\n# pmdaderived:mask no\n"), 0o644))
	served("d", "e")
	require.NoError(t, os.Symlink(os.DevNull, link))
	served("d")
	require.NoError(t, os.Remove(file))
	served("a.b", "a.c", "d")
	require.NoError(t, os.Remove(link))
	served("a.b", "a.c", "d", "e")
	require.NoError(t, p.to.Close())
	assert.Equal(t, commandline.ExitOK, p.end())
	assert.Equal(t, 1, strings.Count(p.log(), "masks nothing: "), p.log())
}

// Between the moment when a change is noticed and the one when it is read the files may change again,
// perhaps halfway: then the agent keeps what it has until that is over.
func TestSourceKeepsWhatItHasWhileFilesChange(t *testing.T) {
	dir := folder(t, "a = 1\n")
	path := filepath.Join(dir, "conf")
	o, err := parseOptions([]string{"-c", path}, testConf, environment())
	require.NoError(t, err)
	log, _ := logtest.NewNullLogger()
	s := newDefinitionSource(o, log)
	names := func(c served.Config) (all []string) {
		for _, d := range c.Definitions {
			all = append(all, d.Name)
		}
		return all
	}
	require.Equal(t, []string{"a"}, names(s.load()))
	require.NoError(t, os.WriteFile(path, []byte("a = 1\nb = 2\n"), 0o644))

	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	var loaded [][]string
	s.watcher.Run(ctx, func() {
		if len(loaded) == 0 {
			require.NoError(t, os.WriteFile(path, nil, 0o644))
			loaded = append(loaded, names(s.load()))
			require.NoError(t, os.WriteFile(path, []byte("a = 1\nc = 3\n"), 0o644))
			return
		}
		loaded = append(loaded, names(s.load()))
		cancel()
	})
	assert.Equal(t, [][]string{{"a"}, {"a", "c"}}, loaded)
}

// A definition that has been parsed is not parsed again, wherever it moves in the file.
func TestSourceParsesOnlyWhatIsNew(t *testing.T) {
	dir := folder(t, "")
	path := filepath.Join(dir, "conf")
	o, err := parseOptions([]string{"-c", path}, testConf, environment())
	require.NoError(t, err)
	log, _ := logtest.NewNullLogger()
	s := newDefinitionSource(o, log)
	load := func(text string) map[string]served.Definition {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		byName := make(map[string]served.Definition)
		for _, d := range s.load().Definitions {
			byName[d.Name] = d
		}
		return byName
	}
	old := load("same = x + 1\nchanged = 1\nbroken = 1\n")
	now := load("\nbroken = +\nchanged = 2\nsame =   x + 1\n")
	assert.Same(t, old["same"].Definition, now["same"].Definition)
	assert.Equal(t, 4, now["same"].Line)
	assert.Equal(t, path+":4:12", strings.Split(now["same"].Explain(2, "here"), "\n")[1])
	assert.Equal(t, "2", now["changed"].Text)
	assert.NotContains(t, now, "broken")
	assert.Equal(t, "1", load("broken = 1\n")["broken"].Text)
}

// A file with many mistakes fills no log: the first ones are logged, and how many more there are, each time that new
// ones come. Those of other files are logged as ever.
func TestLogOfManyProblems(t *testing.T) {
	dir := folder(t, "")
	one, other := filepath.Join(dir, "conf"), filepath.Join(dir, "other")
	o, err := parseOptions([]string{"-c", one + ":" + other}, testConf, environment())
	require.NoError(t, err)
	log, hook := logtest.NewNullLogger()
	s := newDefinitionSource(o, log)
	logged := func(wrong, others int) (problems int, more any) {
		hook.Reset()
		require.NoError(t, os.WriteFile(one, []byte(strings.Repeat("a +\n", wrong)), 0o644))
		require.NoError(t, os.WriteFile(other, []byte(strings.Repeat("b +\n", others)), 0o644))
		s.load()
		for _, e := range hook.AllEntries() {
			if e.Message == "problem in the definition files" {
				problems++
			} else {
				assert.Nil(t, more)
				more = e.Data["more"]
			}
		}
		return problems, more
	}
	type got struct {
		problems int
		more     any
	}
	load := func(wrong, others int) (g got) {
		g.problems, g.more = logged(wrong, others)
		return g
	}
	assert.Equal(t, got{served.MaxReported, nil}, load(served.MaxReported, 0))
	assert.Equal(t, got{served.MaxReported + 2, 50}, load(2*served.MaxReported+50, 2))
	assert.Equal(t, got{50, nil}, load(2*served.MaxReported+50, 2), "those that were only counted")
	assert.Equal(t, got{0, nil}, load(2*served.MaxReported, 2), "nothing is new")
	assert.Equal(t, got{1, nil}, load(2*served.MaxReported, 3))
}

// A configuration that is wrong costs what is wrong in it.
func TestDaemonWithBrokenConfiguration(t *testing.T) {
	dir := folder(t, "a = 42\nb = 1 + * 2\nc = 43\n")
	p := startDaemon(t, dir, "-c", filepath.Join(dir, "conf")+":"+filepath.Join(dir, "nosuch"))
	p.handshake()
	assert.True(t, p.known("derived.a"))
	assert.True(t, p.known("derived.c"))
	require.NoError(t, p.to.Close())
	assert.Equal(t, commandline.ExitOK, p.end())
	assert.Contains(t, p.log(), filepath.Join(dir, "conf")+":2:9: ")
	assert.Contains(t, p.log(), filepath.Join(dir, "nosuch"))
}

// pmcd that dies between two words of a request is an error, and no reason to stay.
func TestDaemonWithBrokenPipe(t *testing.T) {
	p := startDaemon(t, folder(t, "a = 42\n"))
	p.handshake()
	_, err := p.to.Write([]byte{0, 0, 0, 99})
	require.NoError(t, err)
	require.NoError(t, p.to.Close())
	assert.Equal(t, commandline.ExitFailure, p.end())
	assert.Contains(t, p.log(), "unexpected EOF")

	p = startDaemon(t, folder(t, "a = 42\n"))
	p.handshake()
	require.NoError(t, p.from.Close())
	require.NoError(t, p.writer.Write(&pdu.PMNSTraverse{Name: "derived"}, 0))
	_ = p.cmd.Wait()
	assert.Equal(t, commandline.ExitOK, p.cmd.ProcessState.ExitCode(), "pmcd was ended while a reply was on its way")
	assert.Contains(t, p.log(), "broken pipe")
}

// Whatever pmcd sends, at whatever moment: the daemon ends soon and says why, or it goes on and answers.
func TestDaemonWithHostilePMCD(t *testing.T) {
	creds := (&pdu.Creds{Version: pdu.ProtocolVersion}).Append(nil, 0)
	ask := (&pdu.PMNSTraverse{Name: "derived"}).Append(nil, 0)
	after := func(more ...byte) []byte { return append(bytes.Clone(creds), more...) }
	for _, row := range []struct {
		name string
		sent []byte
		log  string
	}{
		{"nothing", nil, "EOF"},
		{"half of the handshake", creds[:len(creds)-3], "unexpected EOF"},
		{"a request before the handshake", ask, "instead of CREDS"},
		{"another version", (&pdu.Creds{Version: 1}).Append(nil, 0), "pmcd closed the pipe"},
		{"another protocol", []byte("GET / HTTP/1.1\r\n\r\n"), "exceeds the limit"},
		{"a length of nothing", after(0, 0, 0, 0, 0, 0, 0x70, 1, 0, 0, 0, 0), "shorter than its header"},
		{"a length below zero", after(0xff, 0xff, 0xff, 0xff, 0, 0, 0x70, 1, 0, 0, 0, 0), "shorter than its header"},
		{"a length without end", after(0x7f, 0xff, 0xff, 0xff, 0, 0, 0x70, 1, 0, 0, 0, 0), "exceeds the limit"},
		{"half of a request", after(ask[:len(ask)-1]...), "unexpected EOF"},
		{"an unknown request", after(0, 0, 0, 12, 0, 0, 0x7f, 0xff, 0, 0, 0, 0), "is not a PDU"},
		{"an empty request", after(0, 0, 0, 12, 0, 0, 0x70, 3, 0, 0, 0, 0), "cannot decode pdu"},
		{
			"a flood that nobody waits for", after(bytes.Repeat((&pdu.Profile{}).Append(nil, 0), 10000)...),
			"pmcd closed the pipe",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := startDaemon(t, folder(t, "a = 42\n"))
			p.next()
			_, err := p.to.Write(row.sent)
			if err == nil { // it may have ended before it has read all
				require.NoError(t, p.to.Close())
			}
			_ = must(io.Copy(io.Discard, p.from))(t)
			_ = p.cmd.Wait()
			assert.Contains(t, []int{commandline.ExitOK, commandline.ExitFailure}, p.cmd.ProcessState.ExitCode(),
				p.log())
			assert.Contains(t, p.log(), row.log)
			assert.NotContains(t, p.log(), "goroutine ", "nothing has panicked")
		})
	}
}

// A person who starts the daemon by hand is told what it is. /dev/null is a character device as a
// terminal is.
func TestDaemonAtATerminal(t *testing.T) {
	cmd := daemonCommand(t, t.TempDir())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.Error(t, cmd.Run())
	assert.Equal(t, commandline.ExitUsage, cmd.ProcessState.ExitCode())
	assert.Empty(t, stdout.String())
	assert.Contains(t, stderr.String(), "is started by pmcd")
}
