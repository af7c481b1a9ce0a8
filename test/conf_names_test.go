//go:build pcp

package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/test/pmcdtest"
)

// debianHost is a folder with files of a Debian 13 host, which PCP's agents read in place of this machine's.
type debianHost struct {
	t      *testing.T
	root   string
	groups []string // control groups
	worked int
}

func newDebianHost(t *testing.T, groups ...string) *debianHost {
	t.Helper()
	h := &debianHost{t: t, root: worldReadableDir(t), groups: groups}
	h.put("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t9\t1\nio\t0\t9\t1\nmemory\t0\t9\t1\n")
	h.mount("/usr")
	h.work()
	return h
}

// mount makes two volumes and a partition file systems, the partition at this mount point.
func (h *debianHost) mount(partition string) {
	h.t.Helper()
	h.put("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0\n"+
		"/dev/mapper/vg-root / ext4 rw 0 0\n/dev/mapper/vg-var--lib /var ext4 rw 0 0\n/dev/sda1 "+partition+" ext4 rw 0 0\n")
	h.put("proc/self/mounts", readDocument(h.t, filepath.Join(h.root, "proc/mounts")))
}

// makeVolumes makes the nodes by which pmdalinux finds the names of volumes, and reports whether it may.
func (h *debianHost) makeVolumes() bool {
	h.t.Helper()
	require.NoError(h.t, os.MkdirAll(filepath.Join(h.root, "dev/mapper"), 0o755))
	for minor, name := range []string{"vg-root", "vg-var--lib"} {
		node := fmt.Sprint("dm-", minor)
		if err := syscall.Mknod(filepath.Join(h.root, "dev", node), syscall.S_IFBLK|0o644, 254<<8|minor); err != nil {
			h.t.Log(err)
			return false
		}
		require.NoError(h.t, os.Symlink("../"+node, filepath.Join(h.root, "dev/mapper", name)))
	}
	return true
}

// put replaces a file at once: an agent that reads it sees the old text or the new one.
func (h *debianHost) put(path, text string) {
	h.t.Helper()
	require.NoError(h.t, os.MkdirAll(filepath.Dir(filepath.Join(h.root, path)), 0o755))
	writeFile(h.t, h.root, path+".new", text)
	require.NoError(h.t, os.Rename(filepath.Join(h.root, path+".new"), filepath.Join(h.root, path)))
}

// work has each device and control group use more than the one before. From call to call all use more.
func (h *debianHost) work() {
	h.t.Helper()
	text := ""
	for i, device := range []string{
		"   8       0 sda", "   8       1 sda1", "   8       2 sda2", " 254       0 dm-0", " 254       1 dm-1",
	} {
		text += fmt.Sprintf("%s 9 0 %d 9 9 0 %d 9 0 9 9 0 0 0 0 0 0\n", device, 1000+i*h.worked, 3000+i*h.worked)
	}
	h.put("proc/diskstats", text)
	for i, group := range h.groups {
		dir, used := filepath.Join("sys/fs/cgroup", group), 1000+i*h.worked
		h.put(filepath.Join(dir, "cpu.stat"), fmt.Sprintf("usage_usec %d000\nuser_usec 1\nsystem_usec 1\n", used))
		h.put(filepath.Join(dir, "memory.current"), fmt.Sprintln(4096*(i+1)))
		h.put(filepath.Join(dir, "memory.stat"), "anon 1\n")
		line := fmt.Sprintf(" rbytes=%d000 wbytes=%d000 rios=1 wios=1 dbytes=0 dios=0\n", used, 2*used)
		h.put(filepath.Join(dir, "io.stat"), "254:0"+line+"8:0"+line)
	}
	h.worked += 500
}

// busy reports whether a rate is above 0, and works if it is not.
func (h *debianHost) busy(rate float64) bool {
	if rate <= 0 {
		h.work()
	}
	return rate > 0
}

// containers returns a private pmcd with the daemon and pmdaroot, which knows these containers by ID.
func (h *debianHost) containers(docker, podman map[string]string) pmcdtest.Config {
	h.t.Helper()
	for id, name := range docker {
		h.put("docker/containers/"+id+"/config.v2.json", fmt.Sprintf(`{"ID":%q,"Name":"/%s","State":{"Running":true}}`, id, name))
	}
	var list []map[string]any
	for id, name := range podman {
		list = append(list, map[string]any{"id": id, "names": []string{name}})
	}
	h.put("podman/containers.json", string(must(json.Marshal(list))(h.t)))
	return pmcdtest.Config{
		Agents: []pmcdtest.Agent{{
			Name: "containers", Domain: 1,
			Command: []string{must(pcpVariable("PCP_PMDAS_DIR"))(h.t) + "/root/pmdaroot", "-s", h.root + "/socket"},
			PMNS:    "containers {\n\tname 1:0:1\n}\n",
		}, derivedAgent(h.t)},
		Env: []string{"PCP_DOCKER_DIR=" + h.root + "/docker", "PCP_PODMAN_DATADIR=" + h.root + "/podman"},
	}
}

// Units have the values that awk computes from the control groups of a Debian 13 host. A group in a unit is part of it.
func TestConfUnits(t *testing.T) {
	host := newDebianHost(t,
		"", "init.scope", "system.slice", "system.slice/ssh.service", "system.slice/docker.service",
		"system.slice/docker.service/init.scope", "system.slice/system-getty.slice/getty@tty1.service",
		"system.slice/boot-efi.mount", "user.slice", "user.slice/user-1000.slice/session-3.scope",
		"user.slice/user-1000.slice/user@1000.service", "user.slice/user-1000.slice/user@1000.service/init.scope",
		"user.slice/user-1000.slice/user@1000.service/app.slice/ssh.service",
	)
	units := []string{
		"docker.service", "getty@tty1.service", "init.scope", "session-3.scope", "ssh.service", "user@1000.service",
	}
	config := host.containers(nil, nil)
	config.Env = append(config.Env, "PROC_STATSPATH="+host.root)
	p := pmcdtest.Start(t, config)
	copyConf(t, p)
	// The same operands, so they are of the same sample.
	writeFile(t, p.Dir, "etc/pmdaderived/test.conf", `
test.cpu = count(cgroup.cpuacct.usage) == 0 ? rate(cgroup.cpu.stat.usage) : novalue()
test.io = rate(cgroup.io.stat.rbytes + cgroup.io.stat.wbytes)
test.rest = sum(host.service.cpu) > 0 \
    ? host.service.other.cpu + sum(host.service.cpu) - 100 * rate(host.cpu.time.busy) : novalue()
`)
	switchOn(t, p)

	outermost := `m = split(k, part, "/"); k = ""
		for (i = 2; i <= m; i++) if (part[i] ~ /\.(service|scope)$/) { k = i == m ? part[i] : ""; break }`
	cpu := summed{name: "host.service.cpu", operands: []string{"derived.test.cpu"}, key: outermost, value: "100 * v[first, n]"}
	mem := summed{name: "host.service.mem", operands: []string{"cgroup.memory.current"}, key: outermost, value: "v[first, n]"}
	io := summed{
		name: "host.service.io", operands: []string{"derived.test.io"},
		key: `if (!sub(/::sda$/, "", k)) k = ""; ` + outermost, value: "v[first, n] / 1024",
	}
	all := func(groups map[string]float64) bool { return slices.Equal(slices.Sorted(maps.Keys(groups)), units) }
	mem.requireEqual(t, p, func(groups map[string]float64) bool { return all(groups) && groups["ssh.service"] == 4*4096 })
	cpu.requireEqual(t, p, all)
	io.requireEqual(t, p, all)
	moved := func(groups map[string]float64) bool { // docker.service uses four thirds of ssh.service
		docker, ssh := groups["docker.service"], groups["ssh.service"]
		return all(groups) && host.busy(ssh) && math.Abs(3*docker-4*ssh) < 1e-6*docker
	}
	cpu.requireEqual(t, p, moved)
	io.requireEqual(t, p, moved)

	found := regexp.MustCompile(`value (\S+)`)
	await.Until(t, "units and others are the busy time of the host", func() bool {
		match := found.FindStringSubmatch(printed(t, p, "pminfo", "-f", "derived.test.rest"))
		if match == nil {
			host.work()
			return false
		}
		return math.Abs(must(strconv.ParseFloat(match[1], 64))(t)) < 1e-6
	})
}

const (
	dockerID = "3b1f0ab3f2e5a6c7d8e9f0a1b2c3d4e5f60718293a4b5c6d7e8f901234567890"
	podmanID = "4c1f0ab3f2e5a6c7d8e9f0a1b2c3d4e5f60718293a4b5c6d7e8f901234567890"
)

// Containers and mount points have the values that awk computes from control groups and devices of a Debian 13 host, and
// the names that pmdaroot and filesys.mountdir have for them, also when these change.
func TestConfNames(t *testing.T) {
	host := newDebianHost(t,
		"", "system.slice", "system.slice/docker.service", "system.slice/docker-"+dockerID+".scope",
		"machine.slice/libpod-"+podmanID+".scope", "machine.slice/libpod-"+podmanID+".scope/container",
		"machine.slice/libpod-conmon-"+podmanID+".scope", "machine.slice/libpod-"+dockerID+".scope.d",
	)
	mounts := []string{"/usr"}
	if host.makeVolumes() {
		mounts = []string{"/", "/usr", "/var"}
	}
	config := host.containers(map[string]string{dockerID: "web"}, map[string]string{podmanID: "db"})
	config.Env = append(config.Env, "PROC_STATSPATH="+host.root, "LINUX_STATSPATH="+host.root)
	p := pmcdtest.Start(t, config)
	copyConf(t, p)
	writeFile(t, p.Dir, "etc/pmdaderived/test.conf", `
test.cpu = count(cgroup.cpuacct.usage) == 0 && count(containers.name) > 0 ? rate(cgroup.cpu.stat.usage) : novalue()
test.io = count(containers.name) > 0 ? rate(cgroup.io.stat.rbytes + cgroup.io.stat.wbytes) : novalue()
test.all = count(disk.dm.total_bytes) + count(disk.partitions.total_bytes) + count(disk.dev.total_bytes) + count(filesys.mountdir)
test.dm = test.all > 0 ? rate(disk.dm.total_bytes) : novalue()
test.partitions = test.all > 0 ? rate(disk.partitions.total_bytes) : novalue()
`) // the same operands, so they are of the same sample
	switchOn(t, p)

	container := func(suffix, podman string) string {
		return fmt.Sprintf(`k = n == "/system.slice/docker-%s.scope%s" ? "web" : n == "/machine.slice/libpod-%s.scope%s" ? %q : ""`,
			dockerID, suffix, podmanID, suffix, podman)
	}
	rows := func(podman string) []summed {
		return []summed{
			{
				name: "host.container.cpu", operands: []string{"derived.test.cpu"}, key: container("", podman),
				value: "100 * v[first, n]",
			},
			{
				name: "host.container.mem", operands: []string{"cgroup.memory.current"}, key: container("", podman),
				value: "v[first, n]",
			},
			{
				name: "host.container.io", operands: []string{"derived.test.io"}, key: container("::sda", podman),
				value: "v[first, n] / 1024",
			},
		}
	}
	traffic := summed{
		name: "host.mount.throughput", operands: []string{"derived.test.dm", "derived.test.partitions", "filesys.mountdir"},
		key:   `k = v["filesys.mountdir", "/dev/mapper/" n] v["filesys.mountdir", "/dev/" n]`,
		value: `v["derived.test.dm", n] + v["derived.test.partitions", n]`,
	}
	space := summed{
		name: "host.mount.used", operands: []string{"filesys.used", "filesys.avail", "filesys.mountdir"},
		key: `k = v["filesys.mountdir", n]`, value: `100 * v[first, n] / (v[first, n] + v["filesys.avail", n])`,
	}
	named := func(names ...string) func(map[string]float64) bool {
		return func(groups map[string]float64) bool { return slices.Equal(slices.Sorted(maps.Keys(groups)), names) }
	}
	for _, row := range rows("db") {
		row.requireEqual(t, p, named("db", "web"))
	}
	traffic.requireEqual(t, p, named(mounts...))
	space.requireEqual(t, p, named("/", "/usr", "/var"))

	host.containers(nil, map[string]string{podmanID: "db-old"})
	host.mount("/bin")
	for _, row := range rows("db-old") {
		row.requireEqual(t, p, func(groups map[string]float64) bool {
			return named("db-old", "web")(groups) && host.busy(groups["web"])
		})
	}
	mounts[slices.Index(mounts, "/usr")] = "/bin"
	slices.Sort(mounts)
	traffic.requireEqual(t, p, func(groups map[string]float64) bool {
		return named(mounts...)(groups) && host.busy(groups["/bin"])
	})
	space.requireEqual(t, p, named("/", "/bin", "/var"))
}
