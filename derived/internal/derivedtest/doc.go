// Package derivedtest has what the tests of several packages below derived use: the metrics of a collector, numbers
// with an exact model of arithmetic, lists of instances, and golden files.
package derivedtest
