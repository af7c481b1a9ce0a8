package config

import (
	"errors"
	"syscall"
)

// remote reports whether a directory is on a file system whose files can change without a word to
// inotify: by another host, by the host of a virtual machine, or by the program or the kernel that
// makes them up. One that cannot be asked counts as such.
//
// Source: statfs(2), the kernel's magic.h.
func remote(dir string) bool {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return !errors.Is(err, syscall.ENOENT)
	}
	return unnotified(uint32(s.Type))
}

// Magic numbers of file systems, as statfs(2) gives them.
const (
	nfs       = 0x6969
	smb       = 0x517b
	cifs      = 0xff534d42
	smb2      = 0xfe534d42
	fuse      = 0x65735546 // virtiofs, too
	v9fs      = 0x01021997
	ceph      = 0x00c36400
	openAFS   = 0x5346414f
	afs       = 0x6b414653
	coda      = 0x73757245
	lustre    = 0x0bd00bd0
	gfs2      = 0x01161970
	ocfs2     = 0x7461636f
	gpfs      = 0x47504653
	orangefs  = 0x20030528
	beegfs    = 0x19830326
	ncp       = 0x564c
	vboxsf    = 0x786f4256
	vmhgfs    = 0xbacbacbc
	parallels = 0x7c7c6673
	proc      = 0x9fa0
	sysfs     = 0x62656572
)

func unnotified(magic uint32) bool {
	switch magic {
	case nfs, smb, cifs, smb2, fuse, v9fs, ceph, openAFS, afs, coda, lustre, gfs2, ocfs2, gpfs, orangefs, beegfs, ncp,
		vboxsf, vmhgfs, parallels, proc, sysfs:
		return true
	}
	return false
}
