// Package quiet keeps speed from complaining, on standard error and in every program that imports it, where
// there is no /etc/pcp.conf. It is imported for what it does before speed's init: it points PCP_CONF at an empty
// file, which tells speed nothing that we want to know from it. Package mmv restores the variable after that.
//
// The order is certain: Go initializes packages sorted by import path, each as soon as what it imports is
// ready. This one needs syscall only and so comes before regexp, for which speed has to wait. A test looks.
//
// Sources: "Program initialization" in the Go specification; speed v4.0.0, config.go.
package quiet

import "syscall"

const variable = "PCP_CONF"

// No call from main would be early enough.
//
//nolint:gochecknoglobals // written once, before anything else runs
var theirs, given = hush()

func hush() (theirs string, given bool) {
	theirs, given = syscall.Getenv(variable)
	_ = syscall.Setenv(variable, "/dev/null")
	return theirs, given
}

// Restore gives the variable the value back that it had.
func Restore() error {
	if given {
		return syscall.Setenv(variable, theirs)
	}
	return syscall.Unsetenv(variable)
}
