package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// childRole is the variable that says what a child process of the tests does. Functions that change the whole process
// are tested in a child, which runs the test binary again.
const childRole = "PMDA_TEST_CHILD"

// childLog is the log of a child whose argument is something else.
const childLog = "PMDA_TEST_LOG"

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := child(role, os.Getenv(childRole+"_ARG")); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(role, arg string) error {
	switch role {
	case "log":
		if err := pmda.OpenLog(arg, "toy", time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "a message")
		panic("a disaster")
	case "given log":
		if err := pmda.GiveLog(arg, "nobody", ""); err != nil {
			return err
		}
		if err := pmda.DropPrivileges("nobody", ""); err != nil {
			return err
		}
		if err := pmda.OpenLog(arg, "toy", time.Now()); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "a message of", os.Getpid())
		return nil
	case "printer":
		if arg != "" {
			if _, _, err := pmda.Stdio(); err != nil {
				return err
			}
		}
		if err := pmda.OpenLog(os.Getenv(childLog), "toy", time.Now()); err != nil {
			return err
		}
		fmt.Println("a stray print")
		return nil
	case "agent":
		pmda.IgnoreSIGPIPE()
		in, out, err := pmda.Stdio()
		if err != nil {
			return err
		}
		if err := pmda.Greet(out, true); err != nil {
			return err
		}
		fmt.Println("a stray print")
		if n, err := os.Stdin.Read(make([]byte, 1)); n != 0 || err == nil {
			return errors.New("standard input is not empty")
		}
		ctx := context.Background()
		if arg == "stop" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
		}
		return (&pmda.Server{Agent: newFull(), Greeted: true}).Serve(ctx, in, out)
	case "streams":
		if arg != "" {
			if err := pmda.DropPrivileges(arg, ""); err != nil {
				return err
			}
		}
		in, out, err := pmda.Stdio()
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s, %s", about(in), about(out))
		return nil
	case "write":
		if arg == "ignore" {
			pmda.IgnoreSIGPIPE()
		}
		_, err := os.Stdout.WriteString("anyone?")
		return err
	case "drop":
		if err := pmda.DropPrivileges("nobody", arg); err != nil {
			return err
		}
		groups, err := os.Getgroups()
		if err != nil {
			return err
		}
		fmt.Println(os.Getuid(), os.Geteuid(), os.Getgid(), os.Getegid(), groups)
		if err := syscall.Setuid(0); err == nil {
			return errors.New("root again")
		}
		return pmda.DropPrivileges("no such user", "") // not root any more: nothing to drop
	}
	return fmt.Errorf("unknown role %q", role)
}

func childCommand(t *testing.T, role, arg string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"="+role, childRole+"_ARG="+arg,
		"GORACE=atexit_sleep_ms=0") // the race detector would let every child wait for a second
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	if dir := os.Getenv("GOCOVERDIR"); dir != "" && os.Geteuid() == 0 { // go test -cover; the child may not be root for long
		for _, folder := range []string{dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
			require.NoError(t, os.Chmod(folder, 0o755))
		}
		require.NoError(t, os.Chmod(dir, 0o777))
	}
	return cmd, stderr
}

// Everything that is written to standard error ends in the log, the runtime's last words included.
func TestOpenLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toy.log")
	require.NoError(t, os.WriteFile(path, []byte("yesterday"), 0o600))
	cmd, stderr := childCommand(t, "log", path)
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	assert.Equal(t, 2, exit.ExitCode(), "status of a panic")
	assert.Empty(t, stderr.String())

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.Regexp(t, "^Log for toy on "+host+" started Sat Aug  1 12:00:00 2026\n\na message\n", string(text))
	assert.Contains(t, string(text), "panic: a disaster")
	assert.Contains(t, string(text), "goroutine 1")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode())

	prev, err := os.ReadFile(path + ".prev")
	require.NoError(t, err)
	assert.Equal(t, "yesterday", string(prev))
}

// Standard output is left alone, unless Stdio has made it a second standard error.
func TestOpenLogWithStandardOutput(t *testing.T) {
	for _, tt := range []struct{ name, arg, stdout, log string }{
		{name: "the pipe to pmcd", stdout: "a stray print\n"},
		{name: "after Stdio", arg: "stdio", log: "a stray print\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "toy.log")
			cmd, stderr := childCommand(t, "printer", tt.arg)
			cmd.Env = append(cmd.Env, childLog+"="+path)
			stdout, err := cmd.Output()
			require.NoError(t, err)
			assert.Equal(t, tt.stdout, string(stdout))
			assert.Empty(t, stderr.String())
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			_, printed, _ := strings.Cut(string(text), "\n\n")
			assert.Equal(t, tt.log, printed)
		})
	}
}

// The file before the last one makes room.
func TestOpenLogAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toy.log")
	for _, old := range []string{"", "older", "old"} {
		if old != "" {
			require.NoError(t, os.WriteFile(path, []byte(old), 0o600))
		}
		cmd, _ := childCommand(t, "log", path)
		require.Error(t, cmd.Run())
	}
	prev, err := os.ReadFile(path + ".prev")
	require.NoError(t, err)
	assert.Equal(t, "old", string(prev))
}

// Where only root can make files it makes them for the account, which moves the text from one to the other.
func TestOpenLogInAFolderOfRoot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "toy.log")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // t.TempDir is two folders, of which others may enter neither
		require.NoError(t, os.Chmod(dir, 0o755))
	} else { // as if root had
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		require.NoError(t, os.WriteFile(path+".prev", nil, 0o644))
		require.NoError(t, os.Chmod(dir, 0o555))
		t.Cleanup(func() { assert.NoError(t, os.Chmod(dir, 0o755)) })
	}
	for range 3 {
		cmd, stderr := childCommand(t, "given log", path)
		require.NoError(t, cmd.Run(), stderr.String())
	}
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	before, err := os.ReadFile(path + ".prev")
	require.NoError(t, err)
	for _, text := range []string{string(now), string(before)} {
		assert.Regexp(t, `^Log for toy on \S+ started .*\n\na message of [0-9]+\n$`, text)
	}
	assert.NotEqual(t, string(now), string(before))
}

// Root makes no files in a folder that a user has replaced by a link.
func TestOpenLogInAFolderBehindALink(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	folder, link := filepath.Join(dir, "folder"), filepath.Join(dir, "link")
	require.NoError(t, os.Mkdir(folder, 0o555))
	require.NoError(t, os.Symlink(folder, link))
	cmd, _ := childCommand(t, "given log", filepath.Join(link, "toy.log"))
	require.Error(t, cmd.Run())
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// A link is moved aside, what it points to is not touched.
func TestOpenLogOverLink(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "toy.log"), filepath.Join(dir, "precious")
	require.NoError(t, os.WriteFile(target, []byte("gold"), 0o600))
	require.NoError(t, os.Symlink(target, path))
	cmd, _ := childCommand(t, "log", path)
	require.Error(t, cmd.Run())
	gold, err := os.ReadFile(target)
	require.NoError(t, err)
	assert.Equal(t, "gold", string(gold))
}

// A log that nobody wants is none, and stays where it is.
func TestOpenLogOnNull(t *testing.T) {
	null := filepath.Join(t.TempDir(), "toy.log")
	require.NoError(t, os.Symlink(os.DevNull, null)) // a link is moved aside
	for _, path := range []string{os.DevNull, null} {
		cmd, stderr := childCommand(t, "log", path)
		require.Error(t, cmd.Run())
		assert.Empty(t, stderr.String())
	}
	assert.NoFileExists(t, os.DevNull+".prev")
	info, err := os.Lstat(os.DevNull)
	require.NoError(t, err)
	assert.Equal(t, os.ModeDevice|os.ModeCharDevice, info.Mode().Type())
}

// A link of the system is no former log: the messages go to the standard error there was.
func TestOpenLogOnStandardError(t *testing.T) {
	cmd, stderr := childCommand(t, "log", "/dev/stderr")
	cmd.Env = append(cmd.Env, "GOTRACEBACK=none")
	require.Error(t, cmd.Run())
	assert.Contains(t, stderr.String(), "\n\na message\n")
	assert.NoFileExists(t, "/dev/stderr.prev")
}

// A log that cannot be opened is an error that names the file, on the standard error there was.
func TestOpenLogFails(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600)) // nobody reads: opening it would wait
	for name, path := range map[string]string{
		"no directory": filepath.Join(dir, "none", "toy.log"),
		"a directory":  dir,
		"a named pipe": fifo,
		"a device":     "/dev/full",
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stderr := childCommand(t, "log", path)
			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Run(), &exit)
			assert.Equal(t, 3, exit.ExitCode())
			assert.Contains(t, stderr.String(), "log: open "+path)
			assert.NoDirExists(t, dir+".prev")
		})
	}
}

// An agent on its real descriptors 0 and 1, as pmcd starts it: stray prints go to standard error,
// the end of the pipe is the end of the process, status 0.
func TestAgentProcess(t *testing.T) {
	cmd, stderr := childCommand(t, "agent", "")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())

	replies := pdu.NewReader(out, pdu.AgentLimit)
	requests := pdu.NewWriter(in)
	next := func() pdu.Message {
		f, err := replies.Next()
		require.NoError(t, err)
		m, err := pdu.Decode(f)
		require.NoError(t, err)
		return m
	}
	require.Equal(t, pdu.KindCreds, next().Kind())
	require.NoError(t, requests.Write(&pdu.Creds{Version: pdu.ProtocolVersion}, 1))
	for range 3 {
		require.NoError(t, requests.Write(&pdu.DescReq{PMID: idLoad}, 0))
		require.Equal(t, pdu.KindDesc, next().Kind())
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	assert.Equal(t, "a stray print\n", stderr.String())
}

// A pipe from pmcd on which nothing arrives does not keep the process from ending.
func TestAgentProcessIsInterrupted(t *testing.T) {
	cmd, stderr := childCommand(t, "agent", "stop")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = pdu.NewReader(out, pdu.AgentLimit).Next()
	require.NoError(t, err)
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, 3, exit.ExitCode())
	assert.Contains(t, stderr.String(), context.DeadlineExceeded.Error())
}

// about tells how a file is waited for, and how many bytes a pipe holds.
func about(f *os.File) (text string) {
	raw, err := f.SyscallConn()
	if err != nil {
		return err.Error()
	}
	_ = raw.Control(func(fd uintptr) {
		text = "blocks"
		if flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
			text = "polled"
		}
		if size, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil {
			text += fmt.Sprint(" and holds ", size)
		}
	})
	return text
}

// Go's poller waits for pipes, also for those that root made for an agent that is not root any more, and a large reply
// fits. Anything else is an ordinary file.
func TestStdio(t *testing.T) {
	t.Run("pipes", func(t *testing.T) {
		for _, account := range []string{"", "nobody"} {
			cmd, stderr := childCommand(t, "streams", account)
			_, err := cmd.StdinPipe()
			require.NoError(t, err)
			_, err = cmd.Output()
			require.NoError(t, err, stderr.String())
			assert.Equal(t, "polled and holds 65536, polled and holds 1048576", stderr.String(), "as %q", account)
		}
	})
	t.Run("files", func(t *testing.T) {
		cmd, stderr := childCommand(t, "streams", "")
		require.NoError(t, cmd.Run(), stderr.String())
		assert.Equal(t, "blocks, blocks", stderr.String())
	})
}

// Without IgnoreSIGPIPE the same program dies of the signal, which shows that the test tests.
func TestIgnoreSIGPIPE(t *testing.T) {
	for _, tt := range []struct {
		name, arg string
		status    string
	}{
		{"ignored", "ignore", "exit status 3"},
		{"not ignored", "", "signal: broken pipe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd, stderr := childCommand(t, "write", tt.arg)
			reader, writer, err := os.Pipe()
			require.NoError(t, err)
			require.NoError(t, reader.Close())
			defer writer.Close()
			cmd.Stdout = writer
			require.EqualError(t, cmd.Run(), tt.status)
			assert.Equal(t, tt.arg == "ignore", strings.Contains(stderr.String(), "broken pipe"))
		})
	}
}

// As root: root is gone for good, groups included. As anyone else nothing happens.
func TestDropPrivileges(t *testing.T) {
	if os.Geteuid() != 0 {
		require.NoError(t, pmda.DropPrivileges("no such user", "no such group"))
		return
	}
	t.Run("to the group of the user", func(t *testing.T) {
		cmd, stderr := childCommand(t, "drop", "")
		out, err := cmd.Output()
		require.NoError(t, err, stderr.String())
		assert.Equal(t, "65534 65534 65534 65534 [65534]\n", string(out))
	})
	t.Run("to another group", func(t *testing.T) {
		cmd, stderr := childCommand(t, "drop", "daemon")
		out, err := cmd.Output()
		require.NoError(t, err, stderr.String())
		assert.Equal(t, "65534 65534 1 1 [65534]\n", string(out))
	})
	t.Run("to nobody there is", func(t *testing.T) {
		err := pmda.DropPrivileges("no such user", "")
		require.ErrorContains(t, err, "run as no such user: ")
		assert.Zero(t, os.Geteuid())
	})
	t.Run("to a group that does not exist", func(t *testing.T) {
		err := pmda.DropPrivileges("nobody", "no such group")
		require.ErrorContains(t, err, "run as nobody: ")
		assert.Zero(t, os.Geteuid())
	})
}
