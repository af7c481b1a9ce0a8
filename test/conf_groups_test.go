//go:build pcp

package test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/test/pmcdtest"
)

// summed is a definition that comes with the agent, and an awk program that computes the same from pminfo's output of
// its operands.
type summed struct {
	name     string
	operands []string
	key      string // awk: sets k, which is the name of the instance n, to its group, "" for none
	value    string // awk: what the instance n adds; v[metric, n] are the operands, first names the first of them
	top      int    // in place of sums the largest values, without group
	lacking  bool   // a machine may have no values
}

// readPminfo is the beginning of every awk program: it parses the output of pminfo -f.
const readPminfo = `
/^[a-z]/ { metric = $1 }
/^    inst \[/ {
	sub(/^    inst \[[0-9]+ or "/, "")
	end = index($0, "\"] value ")
	n = substr($0, 1, end - 1)
	value = substr($0, end + 9)
	if (!gsub(/^"|"$/, "", value))
		value += 0
	v[metric, n] = value
	if (metric != result)
		names[n] = 1
}
`

// program prints "group value" for each group.
func (s summed) program() string {
	each := fmt.Sprintf("k = n; %s; if (k != \"\") sum[k] += %s", s.key, s.value)
	return readPminfo + "END {\n for (n in names) { " + each + " }\n for (k in sum) printf \"%.17g %s\\n\", sum[k], k\n}"
}

// byAwk computes the groups from pminfo's output.
func (s summed) byAwk(t *testing.T, output string) map[string]float64 {
	t.Helper()
	cmd := exec.Command("awk", "-v", "first="+s.operands[0], "-v", "result=derived."+s.name, s.program())
	cmd.Stdin = strings.NewReader(output)
	groups := make(map[string]float64)
	for line := range strings.Lines(combined(t, cmd)) {
		value, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		groups[name] = must(strconv.ParseFloat(value, 64))(t)
	}
	if s.top > 0 {
		order := slices.Sorted(maps.Values(groups))
		for name, value := range groups {
			if len(order) > s.top && value < order[len(order)-s.top] {
				delete(groups, name)
			}
		}
	}
	return groups
}

// byAgent returns the groups in pminfo's output.
func (s summed) byAgent(t *testing.T, output string) map[string]float64 {
	t.Helper()
	_, section, _ := strings.Cut(output, "\nderived."+s.name+"\n")
	groups := make(map[string]float64)
	for line := range strings.Lines(section) {
		match := regexp.MustCompile(`^    inst \[\d+ or "(.*)"\] value (\S+)$`).FindStringSubmatch(strings.TrimRight(line,
			"\n"))
		if match == nil {
			break
		}
		groups[match[1]] = must(strconv.ParseFloat(match[2], 64))(t)
	}
	return groups
}

// requireEqual fetches operands and definition at once until awk and the agent agree, and the values are right. Values
// that change between the agent's sample and the client's own fetch, a fraction of a millisecond later, differ now and
// then.
func (s summed) requireEqual(t *testing.T, p *pmcdtest.PMCD, right func(map[string]float64) bool) {
	t.Helper()
	command := slices.Concat(asAgent(), []string{"pminfo", "-f"}, s.operands, []string{"derived." + s.name})
	var want, got map[string]float64
	output := ""
	defer func() {
		if t.Failed() {
			t.Logf("awk has %v, the agent %v\n%s", want, got, output)
		}
	}()
	await.Until(t, "awk and the agent agree", func() bool {
		output, _, _ = p.Run(t, command...) // an unknown name: the agent has not read its definitions yet
		want, got = s.byAwk(t, output), s.byAgent(t, output)
		return maps.EqualFunc(want, got, func(x, y float64) bool {
			return math.Abs(x-y) <= 1e-6*max(math.Abs(x), math.Abs(y))
		}) && right(got)
	})
	t.Logf("%s: %v", s.name, got)
}

// The sums and ranks that come with the agent equal those that awk computes from the operands on this host. If a value
// depends on time, the operands of awk are rates that the agent computes from the same sample, for each instance.
func TestConfGroups(t *testing.T) {
	p, _ := startWithConf(t)
	writeFile(t, p.Dir, "etc/pmdaderived/test.conf", `
test.net.in = rate(network.interface.in.bytes)
test.net.out = rate(network.interface.out.bytes)
test.command.cpu = rate(proc.psinfo.utime + proc.psinfo.stime)
test.user.cpu = count(proc.id.uid_nm) > 0 ? rate(proc.psinfo.utime + proc.psinfo.stime) : novalue()
`)
	switchOn(t, p)
	kind := `if (match(n, /^(cali|en|ib|lxc|sl|tap|veth|wl|ww)/) || match(n, /^[A-Za-z]+/)) k = substr(n, 1, RLENGTH); else k = ""`
	command := `sub(/^[0-9]+ /, "", k); sub(/ .*/, "", k)
		if (k ~ /^[^(]*\//) { sub(/.*\//, "", k); sub(/:.*/, "", k) } else { sub(/^[-(]/, "", k); sub(/[\/:()].*/, "", k) }`
	user, top := `k = v["proc.id.uid_nm", n]`, `if (v["filesys.readonly", n]) k = ""`
	cgroup := `if (k !~ /^\/[^\/]+$/) k = ""; sub(/^\//, "", k)`
	for _, row := range []summed{
		{
			name: "host.disk.top.busy", operands: []string{"derived.host.disk.busy"}, value: "v[first, n]", top: 5,
			lacking: true,
		},
		{
			name: "host.disk.top.throughput", operands: []string{"derived.host.disk.throughput"}, value: "v[first, n]",
			top: 5, lacking: true,
		},
		{
			name: "host.fs.top.used", operands: []string{"filesys.used", "filesys.avail", "filesys.readonly"},
			key: top, value: `100 * v[first, n] / (v[first, n] + v["filesys.avail", n])`, top: 5, lacking: true,
		},
		{
			name: "host.fs.top.inodes_used", operands: []string{"filesys.usedfiles", "filesys.maxfiles", "filesys.readonly"},
			key: top, value: `(v[first, n] == 0 ? 0 : 100 * v[first, n] / v["filesys.maxfiles", n])`, top: 5, lacking: true,
		},
		{name: "host.net.kind.in", operands: []string{"derived.test.net.in"}, key: kind, value: "v[first, n]"},
		{name: "host.net.kind.out", operands: []string{"derived.test.net.out"}, key: kind, value: "v[first, n]"},
		{
			name: "host.cgroup.mem", operands: []string{"cgroup.memory.current", "cgroup.memory.usage"},
			key: cgroup, value: `((first, n) in v ? v[first, n] : v["cgroup.memory.usage", n])`, lacking: true,
		},
		{name: "host.user.mem", operands: []string{"proc.psinfo.rss", "proc.id.uid_nm"}, key: user, value: "v[first, n]"},
		{
			name: "host.user.cpu", operands: []string{"derived.test.user.cpu", "proc.id.uid_nm"}, key: user,
			value: "100 * v[first, n]",
		},
		{
			name: "host.command.mem", operands: []string{"proc.psinfo.rss"}, key: command + `; if (!v[first, n]) k = ""`,
			value: "v[first, n]",
		},
		{name: "host.command.cpu", operands: []string{"derived.test.command.cpu"}, key: command, value: "100 * v[first, n]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.requireEqual(t, p, func(groups map[string]float64) bool { return len(groups) > 0 || row.lacking })
		})
	}
}

// pmdaproc takes a folder of the test for the root of control groups: this machine may have none, or only those of one
// version.
func TestConfControlGroups(t *testing.T) {
	for version, v := range map[string]struct{ mounts, cpu, usage, mem, cpuMetric, other, memMetric string }{
		"version 2": {
			"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
			"sys/fs/cgroup/%s/cpu.stat", "usage_usec %d000\n", "sys/fs/cgroup/%s/memory.current",
			"cgroup.cpu.stat.usage", "cgroup.cpuacct.usage", "cgroup.memory.current",
		},
		"version 1": {
			"cgroup /sys/fs/cgroup/cpuacct cgroup rw,cpuacct 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n",
			"sys/fs/cgroup/cpuacct/%s/cpuacct.usage", "%d000000\n", "sys/fs/cgroup/memory/%s/memory.usage_in_bytes",
			"cgroup.cpuacct.usage", "cgroup.cpu.stat.usage", "cgroup.memory.usage",
		},
	} {
		t.Run(version, func(t *testing.T) {
			root := worldReadableDir(t)
			put := func(path, text string) {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
				writeFile(t, root, path+".new", text)
				require.NoError(t, os.Rename(filepath.Join(root, path+".new"), filepath.Join(root, path)))
			}
			put("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuacct\t1\t6\t1\nmemory\t2\t6\t1\n")
			put("proc/mounts", v.mounts)
			work := func(milliseconds int) {
				for i, group := range []string{
					"", "init.scope", "system.slice", "system.slice/ssh.service", "user.slice",
					"user.slice/user-0.slice",
				} {
					put(fmt.Sprintf(v.cpu, group), fmt.Sprintf(v.usage, 1000+i*milliseconds))
					put(fmt.Sprintf(v.mem, group), fmt.Sprintln(4096*(i+1)))
					// without it there are no values
					put(filepath.Join(filepath.Dir(fmt.Sprintf(v.mem, group)), "memory.stat"), "anon 1\n")
				}
			}
			work(0)
			p := pmcdtest.Start(t, pmcdtest.Config{
				Agents: []pmcdtest.Agent{derivedAgent(t)},
				Env:    []string{"PROC_STATSPATH=" + root},
			})
			copyConf(t, p)
			// The same operands, so it is of the same sample.
			writeFile(t, p.Dir, "etc/pmdaderived/test.conf", fmt.Sprintf("test.cpu = count(%s) == 0 ? rate(%s) : novalue()\n",
				v.other, v.cpuMetric))

			atTop := `if (k !~ /^\/[^\/]+$/) k = ""; sub(/^\//, "", k)`
			mem := summed{name: "host.cgroup.mem", operands: []string{v.memMetric}, key: atTop, value: "v[first, n]"}
			want := map[string]float64{"init.scope": 2 * 4096, "system.slice": 3 * 4096, "user.slice": 5 * 4096}
			mem.requireEqual(t, p, func(groups map[string]float64) bool { return maps.Equal(groups, want) })

			// A first fetch covers what there was since the start.
			cpu := summed{
				name: "host.cgroup.cpu", operands: []string{"derived.test.cpu"}, key: atTop,
				value: "100 * v[first, n]",
			}
			cpu.requireEqual(t, p, func(groups map[string]float64) bool { return len(groups) == len(want) })
			work(500)
			cpu.requireEqual(t, p, func(groups map[string]float64) bool {
				system, user := groups["system.slice"], groups["user.slice"]
				return len(groups) == len(want) && system > 0 && math.Abs(user-2*system) < 1e-6*user
			})
		})
	}
}

// The ten processes have the commands of this moment; the instances of proc keep the name that proc saw first.
func TestConfTopNames(t *testing.T) {
	// The process is there before proc: one that proc sees before its exec is done keeps the name of its parent.
	cmd := exec.Command("sh", "-c", "read line; exec nice -n -10 yes") // an ordinary user has it without -10
	to := must(cmd.StdinPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p, _ := startWithConf(t)
	switchOn(t, p)
	has := func(metric, instance string) bool {
		out, _, _ := p.Run(t, "pminfo", "-f", metric)
		return strings.Contains(out, ` or "`+instance+`"] value `)
	}
	first := fmt.Sprintf("%06d sh", cmd.Process.Pid)
	await.Until(t, "proc has seen the process", func() bool { return has("proc.psinfo.cmd", first) })
	_ = must(to.Write([]byte("\n")))(t)
	await.Until(t, "it is one of the ten", func() bool {
		return has("derived.host.top.cpu", fmt.Sprintf("yes:%d", cmd.Process.Pid))
	})
	require.True(t, has("proc.psinfo.utime", first))
}
