package logfile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pmdaderived/pdu"
)

// files are the names of the files of one archive.
type files struct {
	base    string
	meta    string
	index   string // "": there is none
	volumes map[int]string
	named   bool // a path names the archive, not only its folder
}

// sortedVolumes returns the volumes in the order of their numbers.
func (f *files) sortedVolumes(of Label) []*volume {
	var list []*volume
	for _, number := range slices.Sorted(maps.Keys(f.volumes)) {
		list = append(list, &volume{number: number, path: f.volumes[number], archive: of})
	}
	return list
}

// find returns the archives that paths name, each once.
func find(paths []string) ([]*files, error) {
	found := make(map[string]*files) // by base name

	// order has the base names in the order of paths; the archives of a folder are in the order of their names. Archives
	// that begin at the same time are read in this order.
	var order []string
	for _, list := range paths {
		for path := range strings.SplitSeq(list, ",") {
			names := []string{path}
			if strings.ContainsAny(path, "*?[") {
				matches, err := filepath.Glob(path)
				if err != nil {
					return nil, fmt.Errorf("%s is not a valid pattern: %w", path, err)
				}
				if len(matches) > 0 {
					names = matches
				}
			}
			for _, name := range names {
				if err := add(found, name); err != nil {
					return nil, err
				}
				for _, base := range slices.Sorted(maps.Keys(found)) {
					if !slices.Contains(order, base) {
						order = append(order, base)
					}
				}
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no archive was given: %w", pdu.ErrLogFile)
	}
	var all []*files
	for _, base := range order {
		all = append(all, found[base])
	}
	return all, nil
}

// add adds to found the archive of a base name or a file, or all archives of a folder.
func add(found map[string]*files, name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		in, err := list(name)
		if err != nil {
			return err
		}
		any := false
		for base, f := range in {
			if f.meta != "" && len(f.volumes) > 0 {
				found[base], any = f, true
			}
		}
		if !any {
			return fmt.Errorf("directory %s contains no archive: %w", name, pdu.ErrLogFile)
		}
		return nil
	}
	in, err := list(filepath.Dir(name))
	if err != nil {
		return err
	}
	base := filepath.Clean(name)
	f := in[base]
	if f == nil {
		base, _, _ = split(base)
		f = in[base]
	}
	switch {
	case f == nil:
		return fmt.Errorf("archive %s does not exist: %w", name, pdu.ErrLogFile)
	case f.meta == "":
		return fmt.Errorf("archive %s has no metadata file (.meta): %w", name, pdu.ErrLogFile)
	case len(f.volumes) == 0:
		return fmt.Errorf("archive %s has no volume: %w", name, pdu.ErrLogFile)
	}
	found[base], f.named = f, true
	return nil
}

// list returns the files of all archives in a folder, by base name. If a file exists with and without compression, it
// returns the one without.
func list(folder string) (map[string]*files, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*files)
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		base, part, compressed := split(path)
		if part == "" || e.IsDir() {
			continue
		}
		f := found[base]
		if f == nil {
			f = &files{base: base, volumes: make(map[int]string)}
			found[base] = f
		}
		switch part {
		case "meta":
			if f.meta == "" || !compressed {
				f.meta = path
			}
		case "index":
			if f.index == "" || !compressed {
				f.index = path
			}
		default:
			number, _ := strconv.Atoi(part)
			if f.volumes[number] == "" || !compressed {
				f.volumes[number] = path
			}
		}
	}
	return found, nil
}

// split splits the path of a file of an archive into the base name and the part, which is "meta", "index" or the number
// of a volume. part is "" if the path is not that of such a file.
func split(path string) (base, part string, compressed bool) {
	if compressions[filepath.Ext(path)] != nil {
		path, compressed = strings.TrimSuffix(path, filepath.Ext(path)), true
	}
	ext := filepath.Ext(path)
	base, part = strings.TrimSuffix(path, ext), strings.TrimPrefix(ext, ".")
	if part == "meta" || part == "index" {
		return base, part, compressed
	}
	if n, err := strconv.Atoi(part); err == nil && n >= 0 && strconv.Itoa(n) == part && filepath.Base(base) != "" {
		return base, part, compressed
	}
	return path, "", compressed
}
