// Package noconf lets the module speed find an empty pcp.conf where there is none. Without a file, speed prints an
// error on standard error when a program starts, also for commands that need no PCP.
//
//	noconf    sets PCP_CONF while it is initialized
//	speed     reads PCP_CONF while it is initialized
//	mmv       calls Restore while it is initialized
//
// Go initializes the first package by import path whose imports are initialized. This package imports only os: it
// precedes speed, which needs regexp. mmv imports both.
//
// Source: "Program initialization" in Go's specification.
package noconf

import "os"

const variable = "PCP_CONF"

// restore undoes the change of the environment.
var restore = provide() //nolint:gochecknoglobals // set before speed is initialized, called once

// provide sets PCP_CONF to the root directory if the file that speed would read does not exist. speed can open a
// directory, and finds it empty.
func provide() (restore func() error) {
	given, isSet := os.LookupEnv(variable)
	path := given
	if !isSet {
		path = os.Getenv("PCP_DIR") + "/etc/pcp.conf"
	}
	if _, err := os.Stat(path); err == nil {
		return func() error { return nil }
	}
	_ = os.Setenv(variable, "/") // at worst speed prints its error
	if isSet {
		return func() error { return os.Setenv(variable, given) }
	}
	return func() error { return os.Unsetenv(variable) }
}

// Restore sets PCP_CONF to what it was before the program started.
func Restore() error { return restore() }
