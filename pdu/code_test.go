package pdu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Numbers, symbols and texts as pmerr(1) of PCP 6.0.3 prints them; ErrArg is of 6.0.4.
func TestCodes(t *testing.T) {
	for _, tt := range []struct {
		code   Code
		number int32
		name   string
		text   string
	}{
		{ErrGeneric, -12345, "PM_ERR_GENERIC", "Generic error, already reported above"},
		{ErrPMNS, -12346, "PM_ERR_PMNS", "Problems parsing PMNS definitions"},
		{ErrNoPMNS, -12347, "PM_ERR_NOPMNS", "PMNS not accessible"},
		{ErrDupPMNS, -12348, "PM_ERR_DUPPMNS", "Attempt to reload the PMNS"},
		{ErrText, -12349, "PM_ERR_TEXT", "One-line or help text is not available"},
		{ErrAppVersion, -12350, "PM_ERR_APPVERSION", "Metric not supported by this version of monitored application"},
		{ErrValue, -12351, "PM_ERR_VALUE", "Missing metric value(s)"},
		{ErrTimeout, -12353, "PM_ERR_TIMEOUT", "Timeout waiting for a response from PMCD"},
		{ErrNoData, -12354, "PM_ERR_NODATA", "Empty archive log file"},
		{ErrReset, -12355, "PM_ERR_RESET", "PMCD reset or configuration change"},
		{ErrName, -12357, "PM_ERR_NAME", "Unknown metric name"},
		{ErrPMID, -12358, "PM_ERR_PMID", "Unknown or illegal metric identifier"},
		{ErrInDom, -12359, "PM_ERR_INDOM", "Unknown or illegal instance domain identifier"},
		{ErrInst, -12360, "PM_ERR_INST", "Unknown or illegal instance identifier"},
		{ErrUnit, -12361, "PM_ERR_UNIT", "Illegal pmUnits specification"},
		{ErrConv, -12362, "PM_ERR_CONV", "Impossible value or scale conversion"},
		{ErrTrunc, -12363, "PM_ERR_TRUNC", "Truncation in value conversion"},
		{ErrSign, -12364, "PM_ERR_SIGN", "Negative value in conversion to unsigned"},
		{ErrProfile, -12365, "PM_ERR_PROFILE", "Explicit instance identifier(s) required"},
		{ErrIPC, -12366, "PM_ERR_IPC", "IPC protocol failure"},
		{ErrEOF, -12368, "PM_ERR_EOF", "IPC channel closed"},
		{ErrNotHost, -12369, "PM_ERR_NOTHOST", "Operation requires context with host source of metrics"},
		{ErrEOL, -12370, "PM_ERR_EOL", "End of PCP archive log"},
		{ErrMode, -12371, "PM_ERR_MODE", "Illegal mode specification"},
		{ErrLabel, -12372, "PM_ERR_LABEL", "Illegal label record at start of a PCP archive log file"},
		{ErrLogRec, -12373, "PM_ERR_LOGREC", "Corrupted record in a PCP archive log"},
		{ErrNotArchive, -12374, "PM_ERR_NOTARCHIVE", "Operation requires context with archive source of metrics"},
		{ErrLogFile, -12375, "PM_ERR_LOGFILE", "Missing PCP archive log file"},
		{ErrNoContext, -12376, "PM_ERR_NOCONTEXT", "Attempt to use an illegal context"},
		{ErrProfileSpec, -12377, "PM_ERR_PROFILESPEC", "NULL pmInDom with non-NULL instlist"},
		{ErrPMIDLog, -12378, "PM_ERR_PMID_LOG", "Metric not defined in the PCP archive log"},
		{ErrInDomLog, -12379, "PM_ERR_INDOM_LOG", "Instance domain identifier not defined in the PCP archive log"},
		{ErrInstLog, -12380, "PM_ERR_INST_LOG", "Instance identifier not defined in the PCP archive log"},
		{ErrNoProfile, -12381, "PM_ERR_NOPROFILE", "Missing profile - protocol botch"},
		{ErrNoAgent, -12386, "PM_ERR_NOAGENT", "No PMCD agent for domain of request"},
		{ErrPermission, -12387, "PM_ERR_PERMISSION", "No permission to perform requested operation"},
		{ErrConnLimit, -12388, "PM_ERR_CONNLIMIT", "PMCD connection limit for this host exceeded"},
		{ErrAgain, -12389, "PM_ERR_AGAIN", "Try again. Information not currently available"},
		{ErrIsConn, -12390, "PM_ERR_ISCONN", "Already Connected"},
		{ErrNotConn, -12391, "PM_ERR_NOTCONN", "Not Connected"},
		{ErrNeedPort, -12392, "PM_ERR_NEEDPORT", "A non-null port name is required"},
		{ErrNonLeaf, -12394, "PM_ERR_NONLEAF", "Metric name is not a leaf in PMNS"},
		{ErrType, -12397, "PM_ERR_TYPE", "Unknown or illegal metric type"},
		{ErrThread, -12398, "PM_ERR_THREAD", "Operation not supported for multi-threaded applications"},
		{ErrNoContainer, -12399, "PM_ERR_NOCONTAINER", "Container not found"},
		{ErrBadStore, -12400, "PM_ERR_BADSTORE", "Bad input to pmstore"},
		{ErrLogOverlap, -12401, "PM_ERR_LOGOVERLAP", "Archives overlap in time"},
		{ErrLogHost, -12402, "PM_ERR_LOGHOST", "Archives differ by host"},
		{ErrLogChangeType, -12404, "PM_ERR_LOGCHANGETYPE", "The type of a metric has changed in an archive"},
		{ErrLogChangeSem, -12405, "PM_ERR_LOGCHANGESEM", "The semantics of a metric has changed in an archive"},
		{ErrLogChangeInDom, -12406, "PM_ERR_LOGCHANGEINDOM", "The instance domain of a metric has changed in an archive"},
		{ErrLogChangeUnits, -12407, "PM_ERR_LOGCHANGEUNITS", "The units of a metric have changed in an archive"},
		{ErrNeedClientCert, -12408, "PM_ERR_NEEDCLIENTCERT", "PMCD requires a client certificate"},
		{ErrBadDerive, -12409, "PM_ERR_BADDERIVE", "Derived metric definition failed"},
		{ErrNoLabels, -12410, "PM_ERR_NOLABELS", "No support for metric label metadata"},
		{ErrPMDAFenced, -12411, "PM_ERR_PMDAFENCED", "PMDA is currently fenced and unable to respond to requests"},
		{ErrRecType, -12412, "PM_ERR_RECTYPE", "Incorrect record type in an archive"},
		{ErrFeature, -12413, "PM_ERR_FEATURE", "Archive feature not supported"},
		{ErrTLS, -12414, "PM_ERR_TLS", "TLS protocol failure"},
		{ErrArg, -12415, "PM_ERR_ARG", "Bad value for function argument"},
		{ErrBotch, -12442, "PM_ERR_BOTCH", "Internal inconsistency detected or assertion failed"},
		{ErrTooSmall, -12443, "PM_ERR_TOOSMALL", "Insufficient elements in list"},
		{ErrTooBig, -12444, "PM_ERR_TOOBIG", "Result size exceeded"},
		{ErrFault, -12445, "PM_ERR_FAULT", "QA fault injected"},
		{ErrPMDAReady, -13393, "PM_ERR_PMDAREADY", "PMDA is now responsive to requests"},
		{ErrPMDANotReady, -13394, "PM_ERR_PMDANOTREADY", "PMDA is not yet ready to respond to requests"},
		{ErrNYI, -21344, "PM_ERR_NYI", "Functionality not yet implemented"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.number, int32(tt.code))
			assert.Equal(t, tt.name, tt.code.Name())
			assert.EqualError(t, tt.code, tt.text)
			parsed, err := ParseCode(tt.name)
			require.NoError(t, err)
			assert.Equal(t, tt.code, parsed)
		})
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
