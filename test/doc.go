// Package test has the tests of the whole: scripts that run pmdaderived under a real pmcd, the installation on the
// machine's own pmcd, and the rules about imports. README.md says how to run them. Files that need a PCP have the
// build tag pcp.
package test
