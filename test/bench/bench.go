package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Options are what a benchmark is run with.
type Options struct {
	Programs string        // folder with bulk, client, pmdaderived, pmdaderived-profiled, pmda.py
	Time     time.Duration // how long each line is measured at least, roughly
	Only     string        // measure only lines whose name contains this
	Verbose  bool          // print what the figures are made of
	Out      io.Writer     // the table
	Progress io.Writer     // what is being measured
}

// workParent is where a run has its folder. The agent watches the folders above its definitions, and wakes up
// whenever anybody writes to a file in one of them, as many do in /tmp.
const workParent = "/var/tmp"

// bench is one run.
type bench struct {
	Options
	dir   string
	log   logBuffer
	notes []string // on the line that is being measured

	version int // of the definitions of thousands

	small, large, thousands *arena // made when first needed; see the methods of these names
	opened                  []*arena
}

// Run measures and prints the table. It returns the number of lines that miss their target; a line that
// could not be measured is one.
func Run(ctx context.Context, o Options) (missed int, err error) {
	b := &bench{Options: o}
	if b.dir, err = os.MkdirTemp(workParent, "pmdaderived-bench"); err != nil {
		return 0, err
	}
	defer func() {
		for _, a := range b.opened {
			err = errors.Join(err, a.close())
		}
		err = errors.Join(err, os.RemoveAll(b.dir))
	}()
	if err := b.prepare(); err != nil {
		return 0, err
	}
	return b.table(ctx)
}

// prepare puts programs and layout where every user can read them: pmcd's agents need not be root.
func (b *bench) prepare() error {
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return err
	}
	for from, to := range map[string]string{
		"bulk": "bulk", "client": "client", "pmda.py": "pmda.py",
		"pmdaderived": "pmdaderived", "pmdaderived-profiled": "pmdaderived-profiled",
	} {
		if err := b.copy(from, to); err != nil {
			return err
		}
	}
	if err := b.copy("bulk", "peer"); err != nil {
		return err
	}
	return os.WriteFile(b.path("layout"), []byte(layoutFile()), 0o644)
}

func (b *bench) copy(from, to string) error {
	program, err := os.ReadFile(filepath.Join(b.Programs, from))
	if err != nil {
		return fmt.Errorf("make bench builds what is missing: %w", err)
	}
	return os.WriteFile(b.path(to), program, 0o755)
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// note adds what a figure is made of.
func (b *bench) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// few is how many turns are made at least where a turn takes seconds.
func (b *bench) few() int {
	if b.Time < time.Second {
		return 1
	}
	return 3
}

// open starts an arena that lives until the end of the run.
func (b *bench) open(ctx context.Context, c arenaConfig) (*arena, error) {
	a, err := b.arena(ctx, c)
	if err != nil {
		return nil, err
	}
	b.opened = append(b.opened, a)
	return a, a.settle(ctx, c.definitions)
}

// familyOf finds a family.
func familyOf(mode string, size int) family {
	for _, f := range families() {
		if f.mode == mode && f.size == size {
			return f
		}
	}
	return family{}
}

// sumsOver is n sums over a family in the same order.
func sumsOver(size, n int) []definition {
	var all []definition
	for i := range n {
		all = append(all, over(familyOf(same, size), i, "sum", exprSum))
	}
	return all
}

// stallDefinitions is the refresh that others wait for: 100,000 values.
func stallDefinitions() []definition {
	var all []definition
	for i := range stallParts {
		all = append(all, over(familyOf(same, 10_000), i, "plain", "A"))
	}
	return all
}

// smallArena has a thousand scalars, metrics over every family, and the C agent.
func (b *bench) smallArena(ctx context.Context) (_ *arena, err error) {
	if b.small == nil {
		defs := sums(1000)
		defs = append(defs, sumsOver(10, 100)...)
		defs = append(defs, sumsOver(1000, 10)...)
		defs = append(defs, sumsOver(10_000, 1)...)
		defs = append(defs, stallDefinitions()...)
		for _, f := range families() {
			if f.size >= 100 {
				defs = append(defs, over(f, 1, "sum", exprSum), over(f, 0, "rate", exprRate))
			}
		}
		b.small, err = b.open(ctx, arenaConfig{definitions: unique(defs), peer: true})
	}
	return b.small, err
}

// largeArena has 10,000 scalars.
func (b *bench) largeArena(ctx context.Context) (_ *arena, err error) {
	if b.large == nil {
		b.large, err = b.open(ctx, arenaConfig{definitions: sums(10_000)})
	}
	return b.large, err
}

// marker is a definition whose value tells which configuration is served.
func marker(version int) definition {
	return definition{"marker", fmt.Sprintf("mkconst(%d, type=u32)", version), 0}
}

// thousandsArena has 5,000 definitions, the marker among them.
func (b *bench) thousandsArena(ctx context.Context) (_ *arena, err error) {
	if b.thousands == nil {
		b.version = 1
		b.thousands, err = b.open(ctx, arenaConfig{definitions: fiveThousand(b.version)})
	}
	return b.thousands, err
}

// fiveThousand are sums and the marker of a version.
func fiveThousand(version int) []definition { return append(sums(4999), marker(version)) }

func unique(defs []definition) []definition {
	seen := make(map[string]bool)
	var all []definition
	for _, d := range defs {
		if !seen[d.name] {
			seen[d.name] = true
			all = append(all, d)
		}
	}
	return all
}
