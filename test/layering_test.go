package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "pmdaderived"

// layer says what the package may import. Packages are separated by blanks; those of this module are
// named without it. What is not listed is forbidden.
type layer struct {
	ours    string // of this module
	modules string // third-party
	never   string // of the standard library, where the layer's purpose forbids it
}

const (
	logging   = "github.com/sirupsen/logrus"
	watching  = "github.com/fsnotify/fsnotify"
	unixCalls = "golang.org/x/sys/unix"
	parsing   = "github.com/spf13/pflag"
	exporting = "github.com/performancecopilot/speed/v4"
	unpacking = "github.com/klauspost/compress/zstd github.com/ulikunitz/xz"
	// talking is what code needs for the world and the log.
	talking = "os/exec os/signal net net/http log log/slog"
	// unsafeLayer is the only package with unsafe.
	unsafeLayer = "internal/nowait"
	// pure code does neither.
	pure = "os " + talking
)

// layers is the architecture; docs/architecture.md draws it. A new package or a new edge is a
// decision: it is made here, in the same commit.
var layers = map[string]layer{
	"pdu":           {never: pure},
	"pmda":          {ours: "pdu internal/nowait internal/regular", modules: logging + " " + parsing + " " + unixCalls},
	"pmda/pmdatest": {ours: "pdu pmda"},
	"pmda/pmapi":    {ours: "pdu internal/nowait"},

	"pmda/pmapi/archive": {
		ours:  "pdu pmda/pmapi pmda/pmapi/archive/interp pmda/pmapi/archive/logfile pmda/pmapi/archive/metadata",
		never: pure,
	},
	"pmda/pmapi/archive/interp":   {ours: "pdu pmda/pmapi/archive/logfile pmda/pmapi/archive/metadata", never: pure},
	"pmda/pmapi/archive/metadata": {ours: "pdu pmda/pmapi/archive/logfile", never: pure},
	"pmda/pmapi/archive/logfile":  {ours: "pdu", modules: unpacking, never: talking},
	"pmda/pmapi/archive/writer":   {ours: "pdu", never: talking},

	"pmda/examples/dice":  {ours: "pdu pmda", modules: logging + " " + parsing},
	"internal/timewindow": {ours: "internal/blank", never: pure},
	"derived/syntax":      {ours: "internal/timewindow internal/blank", never: pure},
	"derived/pattern":     {never: pure},
	"derived/column":      {ours: "pdu", never: pure},
	"derived/units":       {ours: "derived/column pdu", never: pure},
	"derived/group":       {ours: "derived/column derived/pattern pdu", never: pure},
	"derived/check":       {ours: "derived/column derived/group derived/pattern derived/syntax derived/units pdu", never: pure},
	"derived/engine":      {ours: "derived/check derived/column derived/group derived/pattern derived/syntax derived/units pdu", never: pure},
	"derived":             {ours: "derived/check derived/column derived/engine derived/group derived/syntax derived/units pdu", never: pure},
	"internal/window":     {ours: "derived derived/syntax pdu", never: pure},
	"internal/unittest":   {ours: "config derived derived/syntax internal/window internal/blank internal/plural pdu", never: pure},
	"internal/lint":       {ours: "derived derived/pattern derived/syntax internal/blank pdu", never: pure},
	"internal/agent": {
		ours: "derived internal/agent/agents internal/agent/control internal/freshness internal/agent/history internal/operand internal/agent/predict " +
			"internal/agent/reload internal/agent/sampler internal/served internal/agent/upstream internal/window pdu pmda pmda/pmapi",
		modules: logging,
	},
	"internal/agent/reload": {
		ours: "derived internal/agent/control internal/freshness internal/identity internal/operand internal/agent/sampler internal/served " +
			"internal/agent/upstream internal/wait pdu pmda/pmapi",
		modules: logging, never: "os " + talking,
	},
	"internal/agent/sampler": {
		ours:    "derived internal/agent/control internal/freshness internal/operand internal/agent/upstream internal/window internal/wait",
		modules: logging, never: pure,
	},
	"internal/agent/upstream": {
		ours: "internal/agent/agents internal/agent/control internal/freshness internal/operand internal/agent/pool internal/agent/predict " +
			"internal/agent/queue internal/agent/slow internal/wait pdu pmda/pmapi",
		modules: logging, never: "os " + talking,
	},
	"internal/agent/pool": {
		ours:    "internal/agent/agents internal/agent/control internal/agent/predict internal/agent/slow internal/wait pdu pmda/pmapi",
		modules: logging, never: "os " + talking,
	},
	"internal/agent/queue":   {ours: "internal/operand internal/agent/slow pdu", never: pure},
	"internal/operand":       {ours: "derived internal/freshness internal/wait pdu pmda/pmapi", never: pure},
	"internal/agent/agents":  {ours: "pdu pmda/pmapi", never: pure},
	"internal/agent/predict": {ours: "internal/freshness", never: pure},
	"internal/freshness":     {never: pure},
	"internal/agent/history": {ours: "derived internal/freshness internal/operand", never: pure},
	"internal/agent/slow":    {ours: "internal/agent/predict pdu", never: pure},
	"internal/identity": {
		ours: "pdu internal/regular", never: talking,
	},
	"internal/served": {
		ours: "derived internal/identity pdu pmda", modules: logging, never: pure,
	},
	"internal/session": {
		ours: "derived internal/operand internal/served internal/window pdu pmda/pmapi", never: pure,
	},
	"internal/replay": {
		ours: "derived derived/syntax internal/identity internal/operand internal/served internal/session pdu pmda/pmapi " +
			"pmda/pmapi/archive pmda/pmapi/archive/writer",
		never: pure,
	},
	"internal/agent/mmv": {
		ours:    "internal/agent/control internal/agent/mmv/noconf pdu",
		modules: logging + " " + exporting,
	},
	"internal/agent/mmv/noconf": {never: talking},
	"internal/agent/control":    {ours: "internal/printable pdu pmda", never: pure},
	"internal/blank":            {never: pure},
	"internal/plural":           {never: pure},
	"internal/printable":        {never: pure},
	"internal/wait":             {never: pure},
	"internal/nowait":           {modules: unixCalls, never: talking},
	"internal/regular":          {never: talking},
	"config":                    {ours: "internal/blank internal/printable internal/regular internal/wait pdu", modules: logging + " " + watching + " " + unixCalls},
	"internal/commandline":      {ours: "config internal/timewindow pmda/pmapi", modules: parsing, never: pure},
	"internal/definitions":      {ours: "config derived derived/syntax internal/operand internal/printable internal/served pdu pmda", never: pure},
	"internal/collector": {
		ours: "derived derived/syntax internal/served internal/commandline internal/plural internal/replay internal/session " +
			"internal/timewindow pdu pmda/pmapi pmda/pmapi/archive",
		never: "os os/exec os/signal net/http log log/slog",
	},
	"internal/command": {
		ours: "config derived derived/syntax internal/agent internal/freshness internal/identity internal/operand internal/served " +
			"internal/collector internal/commandline internal/definitions internal/lint internal/plural internal/printable internal/replay internal/session " +
			"internal/timewindow internal/unittest internal/window pdu",
		modules: parsing + " " + unixCalls, never: "os/exec net net/http log log/slog",
	},
	"cmd/pmdaderived": {
		ours: "config internal/agent internal/agent/mmv internal/served internal/command internal/commandline internal/definitions " +
			"internal/printable pmda pmda/pmapi",
		modules: logging + " " + parsing,
	},

	"internal/await":                         {never: pure}, // for tests
	"internal/growth":                        {never: pure}, // for tests
	"internal/agent/reloadtest":              {ours: "pdu", never: pure},
	"derived/internal/derivedtest":           {ours: "pdu", modules: "github.com/stretchr/testify/require"},
	"pmda/pmapi/pmapitest":                   {ours: "pdu"},
	"test":                                   {},
	"packaging/manpages":                     {modules: "github.com/cpuguy83/go-md2man/v2/md2man"},
	"test/fleet":                             {},
	"test/pmcdtest":                          {},
	"test/conformance":                       {ours: "pdu", modules: "github.com/stretchr/testify/assert github.com/stretchr/testify/require"},
	"test/conformance/cmd/conformance-table": {ours: "test/conformance"},
	"test/pmcdtest/cmd/private-pmcd":         {ours: "test/pmcdtest"},
	"test/liar":                              {ours: "pdu"},
	"test/rig":                               {ours: "pdu pmda pmda/pmapi test/liar test/pmcdtest", modules: unixCalls},
	"test/bench":                             {ours: "test/pmcdtest test/rig"},
	"test/soak":                              {ours: "internal/agent/reloadtest pdu pmda/pmapi pmda/pmapi/archive test/liar test/pmcdtest test/rig"},
	"test/rig/cmd/rig":                       {ours: "test/bench test/rig test/soak"},
}

// testModules is what tests may import besides what their package may.
var testModules = []string{
	"github.com/stretchr/testify/assert",
	"github.com/stretchr/testify/require",
	"github.com/sirupsen/logrus/hooks/test",
	"github.com/rogpeppe/go-internal/testscript",
	"github.com/rogpeppe/go-internal/txtar",
	exporting + "/mmvdump",
	logging, parsing, watching, unixCalls, exporting,
	"github.com/klauspost/compress/zstd", "github.com/ulikunitz/xz",
}

// listed is the part of `go list -json` that is used here.
type listed struct {
	ImportPath                         string
	Standard                           bool
	Imports, TestImports, XTestImports []string
}

func goList(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-buildvcs=false", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = ".."
	out := must(cmd.Output())(t)
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}

// standard holds for packages of Go's own library: the first element of their path has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != module
}

// offences returns what a package with these imports does against its layer.
func offences(imports []string, l layer) []string {
	var found []string
	for _, path := range imports {
		own, ours := strings.CutPrefix(path, module+"/")
		switch {
		case ours && !slices.Contains(strings.Fields(l.ours), own):
			found = append(found, own)
		case standard(path) && slices.Contains(strings.Fields(l.never), path):
			found = append(found, path)
		case !ours && !standard(path) && !slices.Contains(strings.Fields(l.modules), path):
			found = append(found, path)
		}
	}
	return found
}

func TestLayering(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range goList(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			l, ok := layers[name]
			require.True(t, ok, "this package has no place in the table of layers")
			assert.Empty(t, offences(p.Imports, l), "imports that its layer does not allow")
			if name != unsafeLayer {
				assert.NotContains(t, p.Imports, "unsafe", "only %s may", unsafeLayer)
			}

			for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
				if !standard(path) && !strings.HasPrefix(path, module+"/") {
					assert.Contains(t, testModules, path, "tests use few tools")
				}
			}
		})
	}
	for name := range layers {
		assert.True(t, seen[name], "the table of layers names %s, which does not exist", name)
	}
}

// Text from definition files is turned into programs by packages that cannot open, start or call
// anything: the table says what they may import. Nor can the daemon as a whole, with every module that is
// linked into it, start programs or load code.
func TestDefinitionsReachNothing(t *testing.T) {
	for _, name := range []string{"derived", "derived/check", "derived/column", "derived/engine", "derived/group", "derived/units", "derived/syntax", "derived/pattern", "pdu"} {
		for _, forbidden := range strings.Fields(pure) {
			assert.Contains(t, strings.Fields(layers[name].never), forbidden, name)
		}
		for _, ours := range strings.Fields(layers[name].ours) {
			assert.Equal(t, pure, layers[ours].never, "%s, below %s", ours, name)
		}
		assert.Empty(t, layers[name].modules, name)
	}
	cmd := exec.Command("go", "list", "-buildvcs=false", "-deps", "./cmd/pmdaderived")
	cmd.Dir = ".."
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0") // as it is shipped
	out := must(cmd.Output())(t)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, module+"/derived")
	for _, forbidden := range []string{"os/exec", "plugin", "net/http", "net/rpc", "text/template", "runtime/cgo"} {
		assert.NotContains(t, deps, forbidden)
	}
}

// The test above would pass with a broken rule; this one shows that each rule bites.
func TestLayeringRules(t *testing.T) {
	middle := layer{ours: "pdu", modules: logging, never: "net"}
	for _, row := range []struct {
		name string
		path string
		bad  bool
	}{
		{"allowed package", module + "/pdu", false},
		{"other package", module + "/config", true},
		{"allowed module", logging, false},
		{"package below an allowed module", logging + "/hooks/test", true},
		{"other module", "example.org/x", true},
		{"standard library", "encoding/json", false},
		{"forbidden part of the standard library", "net", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.bad, len(offences([]string{row.path}, middle)) > 0)
		})
	}
}
