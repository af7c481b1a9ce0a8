// Package quiet keeps speed from complaining, on standard error and in every program that imports it, where
// there is no /etc/pcp.conf. It is imported for its effect, which must come before speed's init: it points
// PCP_CONF at an empty file, which means the same to everybody.
//
// The order is certain: Go initializes packages sorted by import path, each as soon as what it imports is
// ready. This one needs syscall only and so comes before regexp, for which speed has to wait. A test
// looks.
//
// Sources: "Program initialization" in the Go specification; speed v4.0.0, config.go.
package quiet

import "syscall"

const (
	variable = "PCP_CONF"
	usual    = "/etc/pcp.conf"
	empty    = "/dev/null"
)

// No call from main would be early enough.
var _ = hush(usual)

// hush sets PCP_CONF if it is not set and there is no file at path.
func hush(path string) error {
	if _, set := syscall.Getenv(variable); set {
		return nil
	}
	var info syscall.Stat_t
	if err := syscall.Stat(path, &info); err != syscall.ENOENT {
		return err
	}
	return syscall.Setenv(variable, empty)
}
