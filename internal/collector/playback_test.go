package collector

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pmda/pmapi/archive"
)

// A folder with archives from before and after new identifiers has a fault for each metric, which are of one kind.
func TestDamageKind(t *testing.T) {
	kind := func(file, reason string) string { return DamageKind(&archive.DamageError{File: file, Reason: reason}) }
	first := kind("a.meta", "derived.x is the name of two metrics, 510.1.136 and 510.1.140")
	assert.Equal(t, first, kind("a.meta", "derived.y_2 is the name of two metrics, 510.1.135 and 510.1.139"))
	assert.NotEqual(t, first, kind("b.meta", "derived.x is the name of two metrics, 510.1.136 and 510.1.140"))
	assert.NotEqual(t, first, kind("a.meta", "metric 510.1.67 has another descriptor in an earlier record"))
	assert.Equal(t, "other", DamageKind(errors.New("other")))
}
