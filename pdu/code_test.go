package pdu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Numbers, symbols and texts as `pmerr -l` of PCP 6.0.3 prints them. ErrArg is of 6.0.4.
func TestCodes(t *testing.T) {
	listed, err := os.ReadFile("testdata/pmerr-6.0.3.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(listed)), "\n")[1:] // the first is the heading
	lines = append(lines, "-12415 PM_ERR_ARG Bad value for function argument")
	assert.Len(t, codes, len(lines))
	for _, line := range lines {
		word := strings.Fields(line)
		code, err := ParseCode(word[1])
		require.NoError(t, err)
		assert.Equal(t, word[0], itoa(code))
		assert.Equal(t, word[1], code.Name())
		assert.EqualError(t, code, strings.Join(word[2:], " "))
	}
	for _, name := range []string{"", "PM_ERR", "PM_ERR_NOSUCH", "pm_err_again", "-12389"} {
		_, err := ParseCode(name)
		assert.EqualError(t, err, fmt.Sprintf("error code %q: want a symbol such as PM_ERR_AGAIN", name))
	}
}

func TestCodesOfOtherOrigin(t *testing.T) {
	for _, tt := range []struct {
		code Code
		text string
	}{
		{0, "No error"},
		{-1, "Operation not permitted"},
		{-2, "No such file or directory"},
		{-11, "Resource temporarily unavailable"},
		{-12, "Cannot allocate memory"},
		{-22, "Invalid argument"},
		{-32, "Broken pipe"},
		{-41, "Unknown error 41"},
		{-81, ".lib section in a.out corrupted"},
		{-95, "Operation not supported"},
		{-133, "Memory page has hardware error"},
		{-134, "Unknown error 134"},
		{-12344, "Unknown error 12344"},
		{-12352, "No such PMAPI error code (-12352)"}, // retired
		{-12446, "No such PMAPI error code (-12446)"},
		{-21343, "No such PMAPI error code (-21343)"},
		{7, "No such PMAPI error code (7)"},
		{-21345, "Authentication - SASL error -1"},
		{-22344, "Authentication - SASL error -1000"},
		{-22345, "Unknown secure sockets error -22345 (-1001)"},
		{-25000, "Unknown secure sockets error -25000 (-3656)"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			assert.EqualError(t, tt.code, tt.text)
			assert.Equal(t, fmt.Sprint(int32(tt.code)), tt.code.Name())
		})
	}
}

func TestCodeOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want Code
	}{
		{"nil", nil, 0},
		{"code", ErrPMID, ErrPMID},
		{"wrapped code", fmt.Errorf("operand x: %w", ErrName), ErrName},
		{"joined", errors.Join(errors.New("first"), ErrInst), ErrInst},
		{"errno", syscall.EPIPE, -32},
		{"wrapped errno", &os.PathError{Op: "write", Path: "x", Err: syscall.EPIPE}, -32},
		{"code before errno", fmt.Errorf("%w: %w", syscall.EPIPE, ErrIPC), ErrIPC},
		{"decode error", &DecodeError{Kind: KindFetch}, ErrIPC},
		{"frame error", &FrameError{Length: 3}, ErrIPC},
		{"other", context.Canceled, ErrGeneric},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, CodeOf(tt.err)) })
	}
}

func TestTranslateChallengeCode(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old, now Code
	}{
		{"go on", 0, 0},
		{"permission", -1042, ErrPermission},
		{"connection limit", -1043, ErrConnLimit},
		{"first of the old numbering", -1000, ErrGeneric},
		{"errno", -32, -32},
		{"today's numbering", ErrPermission, ErrPermission},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.now, TranslateChallengeCode(tt.old)) })
	}
}

func TestChangeNames(t *testing.T) {
	assert.Equal(t, "0", Change(0).String())
	assert.Equal(t, "ADD_AGENT|RESTART_AGENT|DROP_AGENT", Change(7).String())
	assert.Equal(t, "LABEL_CHANGE|NAMES_CHANGE|HOSTNAME_CHANGE|0x40", Change(120).String())
}
