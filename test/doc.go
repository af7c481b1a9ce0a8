// Package test holds the tests of the whole: scripts that run pmdaderived under a real pmcd, the
// installation on the machine's own pmcd, and the rules about who imports whom. README.md says how to run them.
package test
