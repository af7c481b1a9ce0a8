package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mask removes files or definitions of the directories that come before its own in the path list.
type mask struct {
	component int      // of the path list, with the mask
	unused    *Problem // reported if the mask removes nothing; at the position of the mask
	used      bool
}

// masksNothing is the code of the warning about a mask that removes nothing.
const masksNothing = "masks-nothing"

// fileOrigin says where a file comes from.
type fileOrigin struct {
	component int    // of the path list
	below     string // path of the file below this component, with a slash before it; "": it is the component
}

// addMask adds a mask of a definition and all definitions below its name, or of a file as in fileOrigin.below.
func (l *loader) addMask(masked string, unused *Problem) {
	if old := l.masks[masked]; old == nil || old.component < l.component {
		l.masks[masked] = &mask{component: l.component, unused: unused}
	}
}

// addFileMask adds the mask of a file of the directories before. A link to the null device has no other purpose, but
// an empty file may have.
func (l *loader) addFileMask(below, path string, link bool) {
	unused := &Problem{
		Pos: Position{File: path}, Severity: Note, Code: masksNothing,
		Msg: "empty, and masks nothing: no directory before this one has a file of this name",
	}
	if link {
		unused.Severity = Warning
	}
	l.addMask(below, unused)
}

// maskOf returns the mask of a definition in a file, or with an empty name the mask of the file; nil: there is none.
func (l *loader) maskOf(file, name string) *mask {
	from := l.origins[file]
	if m := l.masks[from.below]; m != nil && m.component > from.component {
		return m
	}
	for from.below != "" && name != "" {
		if m := l.masks[name]; m != nil && m.component > from.component {
			return m
		}
		name = name[:max(0, strings.LastIndexByte(name, '.'))]
	}
	return nil
}

// applyMasks removes what is masked, and reports masks that remove nothing.
func (l *loader) applyMasks() {
	for masked, at := range l.MasksBefore {
		i := l.out.Unread.Find(at.File)
		if i < 0 {
			continue
		}
		from := l.out.Sources[i].component
		if m := l.masks[masked]; m == nil || m.component < from {
			l.masks[masked] = &mask{component: from, unused: &Problem{Pos: at}, used: true} // so that it is not reported
		}
	}
	if len(l.masks) == 0 {
		return
	}
	for file := range l.origins {
		if m := l.maskOf(file, ""); m != nil {
			m.used = true
		}
	}
	l.out.Masks, l.out.Masked = map[string]Position{}, map[string]Position{}
	l.out.Definitions = slices.DeleteFunc(l.out.Definitions, func(d *Definition) bool {
		m := l.maskOf(d.Pos.File, d.Name)
		if m != nil {
			m.used = true
			l.out.Masked[d.Name] = m.unused.Pos
		}
		return m != nil
	})
	l.out.Controls = slices.DeleteFunc(l.out.Controls, func(c Control) bool { return l.maskOf(c.Pos.File, "") != nil })
	// Problems of files as a whole stay, because a Watcher compares them.
	l.out.Problems = slices.DeleteFunc(l.out.Problems, func(p *Problem) bool {
		return p.Path == "" && l.maskOf(p.Pos.File, p.Name) != nil
	})
	for _, masked := range slices.Sorted(maps.Keys(l.masks)) {
		m := l.masks[masked]
		l.out.Masks[masked] = m.unused.Pos
		if !m.used {
			l.out.Problems = append(l.out.Problems, m.unused)
		}
	}
}

// isNull reports whether a path leads to the null device, as a file that is masked with a symbolic link does.
func isNull(path string) bool {
	target, _ := filepath.EvalSymlinks(path)
	return target == os.DevNull
}
