package pdu

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Code is a PMAPI error code (PM_ERR_*, -12345 and below) or a negated errno. It is a Go error with
// the text of pmErrStr(3) in PCP 6.0.3. Zero is success. A number above zero, which an ERROR can carry,
// is no error but a state change, see [Change]. Source: docs/protocol.md 3.9.
type Code int32

// The codes of the PMAPI that agents, clients and archives send or compare. The others have a name and a text only:
// see codes.
const (
	ErrGeneric      Code = -12345
	ErrText         Code = -12349
	ErrAppVersion   Code = -12350
	ErrValue        Code = -12351
	ErrTimeout      Code = -12353
	ErrNoData       Code = -12354
	ErrName         Code = -12357
	ErrPMID         Code = -12358
	ErrInDom        Code = -12359
	ErrInst         Code = -12360
	ErrUnit         Code = -12361
	ErrConv         Code = -12362
	ErrTrunc        Code = -12363
	ErrSign         Code = -12364
	ErrProfile      Code = -12365
	ErrIPC          Code = -12366
	ErrEOF          Code = -12368
	ErrEOL          Code = -12370
	ErrLabel        Code = -12372
	ErrLogRec       Code = -12373
	ErrLogFile      Code = -12375
	ErrPMIDLog      Code = -12378
	ErrNoProfile    Code = -12381
	ErrNoAgent      Code = -12386
	ErrPermission   Code = -12387
	ErrConnLimit    Code = -12388
	ErrAgain        Code = -12389
	ErrNotConn      Code = -12391
	ErrNonLeaf      Code = -12394
	ErrType         Code = -12397
	ErrNoContainer  Code = -12399
	ErrBadStore     Code = -12400
	ErrLogOverlap   Code = -12401
	ErrLogHost      Code = -12402
	ErrBadDerive    Code = -12409
	ErrNoLabels     Code = -12410
	ErrPMDAFenced   Code = -12411
	ErrRecType      Code = -12412
	ErrFeature      Code = -12413
	ErrArg          Code = -12415 // since 6.0.4
	ErrTooSmall     Code = -12443
	ErrTooBig       Code = -12444
	ErrPMDAReady    Code = -13393
	ErrPMDANotReady Code = -13394
	ErrNYI          Code = -21344
)

// Ranges of codes that have other origins. A code below ErrNYI is the sum of ErrNYI and the code of a
// library, SASL or TLS.
const (
	lastErrno Code = -12344 // from -1 down to here a code is a negated errno
	lastSASL  Code = -1000  // from -1 down to here a library's code is SASL's, below it is TLS's
)

// Error returns the text of pmErrStr(3). For a code of SASL it has the number in place of SASL's text.
func (c Code) Error() string {
	if code, ok := codes[c]; ok {
		return code.text
	}
	switch library := c - ErrNYI; {
	case c == 0:
		return "No error"
	case c < 0 && c >= lastErrno:
		return errnoText(-c)
	case c >= ErrNYI:
		return fmt.Sprintf("No such PMAPI error code (%d)", int32(c))
	case library >= lastSASL:
		return fmt.Sprintf("Authentication - SASL error %d", int32(library))
	default:
		return fmt.Sprintf("Unknown secure sockets error %d (%d)", int32(c), int32(library))
	}
}

// errnoText returns the text of strerror(3). Go's own text begins with a small letter.
func errnoText(errno Code) string {
	text := syscall.Errno(errno).Error()
	switch {
	case errno == ehwpoison:
		return "Memory page has hardware error"
	case strings.HasPrefix(text, "errno "):
		return fmt.Sprintf("Unknown error %d", int32(errno))
	case text[0] >= 'a' && text[0] <= 'z':
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}

// ehwpoison is an errno of Linux that package syscall has no text for.
const ehwpoison Code = 133

// Name returns the symbol, "PM_ERR_IPC", or the number of a code without one.
func (c Code) Name() string {
	if code, ok := codes[c]; ok {
		return code.name
	}
	return itoa(c)
}

// ParseCode returns the code of a symbol such as "PM_ERR_IPC". It accepts no numbers.
func ParseCode(s string) (Code, error) {
	for c, code := range codes {
		if code.name == s {
			return c, nil
		}
	}
	return 0, fmt.Errorf("error code %q: want a symbol such as PM_ERR_AGAIN", s)
}

// CodeOf returns the Code that err wraps, or the negated errno if it wraps one, or ErrGeneric. It returns 0 for
// nil. A server uses it where it sends an ERROR.
func CodeOf(err error) Code {
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[Code](err); ok {
		return code
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return -Code(errno)
	}
	return ErrGeneric
}

// Change is a set of state changes (PMCD_*_CHANGE). pmcd sends one to its clients before a RESULT, as an [Error]
// with a Code above zero. An agent sends one to pmcd inside a RESULT, see [ResultWriter.Frame]; it sets ChangeLabels
// and ChangeNames only. Source: docs/protocol.md 4.6, 5.7.
type Change uint32

// The changes.
const (
	ChangeAddAgent     Change = 1
	ChangeRestartAgent Change = 2
	ChangeDropAgent    Change = 4
	ChangeLabels       Change = 8
	ChangeNames        Change = 16
	ChangeHostname     Change = 32 // since 6.0.4
)

// String returns the names, joined by "|", and "0" for none.
func (c Change) String() string {
	return bitNames(uint32(c), "ADD_AGENT", "RESTART_AGENT", "DROP_AGENT", "LABEL_CHANGE", "NAMES_CHANGE",
		"HOSTNAME_CHANGE")
}

// MarshalText returns String's text, so that text logs and JSON logs agree.
func (c Change) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// codes has the symbol and the text of each code of the PMAPI.
var codes = map[Code]struct{ name, text string }{ //nolint:gochecknoglobals // a table
	ErrGeneric:      {"PM_ERR_GENERIC", "Generic error, already reported above"},
	-12346:          {"PM_ERR_PMNS", "Problems parsing PMNS definitions"},
	-12347:          {"PM_ERR_NOPMNS", "PMNS not accessible"},
	-12348:          {"PM_ERR_DUPPMNS", "Attempt to reload the PMNS"},
	ErrText:         {"PM_ERR_TEXT", "One-line or help text is not available"},
	ErrAppVersion:   {"PM_ERR_APPVERSION", "Metric not supported by this version of monitored application"},
	ErrValue:        {"PM_ERR_VALUE", "Missing metric value(s)"},
	ErrTimeout:      {"PM_ERR_TIMEOUT", "Timeout waiting for a response from PMCD"},
	ErrNoData:       {"PM_ERR_NODATA", "Empty archive log file"},
	-12355:          {"PM_ERR_RESET", "PMCD reset or configuration change"},
	ErrName:         {"PM_ERR_NAME", "Unknown metric name"},
	ErrPMID:         {"PM_ERR_PMID", "Unknown or illegal metric identifier"},
	ErrInDom:        {"PM_ERR_INDOM", "Unknown or illegal instance domain identifier"},
	ErrInst:         {"PM_ERR_INST", "Unknown or illegal instance identifier"},
	ErrUnit:         {"PM_ERR_UNIT", "Illegal pmUnits specification"},
	ErrConv:         {"PM_ERR_CONV", "Impossible value or scale conversion"},
	ErrTrunc:        {"PM_ERR_TRUNC", "Truncation in value conversion"},
	ErrSign:         {"PM_ERR_SIGN", "Negative value in conversion to unsigned"},
	ErrProfile:      {"PM_ERR_PROFILE", "Explicit instance identifier(s) required"},
	ErrIPC:          {"PM_ERR_IPC", "IPC protocol failure"},
	ErrEOF:          {"PM_ERR_EOF", "IPC channel closed"},
	-12369:          {"PM_ERR_NOTHOST", "Operation requires context with host source of metrics"},
	ErrEOL:          {"PM_ERR_EOL", "End of PCP archive log"},
	-12371:          {"PM_ERR_MODE", "Illegal mode specification"},
	ErrLabel:        {"PM_ERR_LABEL", "Illegal label record at start of a PCP archive log file"},
	ErrLogRec:       {"PM_ERR_LOGREC", "Corrupted record in a PCP archive log"},
	-12374:          {"PM_ERR_NOTARCHIVE", "Operation requires context with archive source of metrics"},
	ErrLogFile:      {"PM_ERR_LOGFILE", "Missing PCP archive log file"},
	-12376:          {"PM_ERR_NOCONTEXT", "Attempt to use an illegal context"},
	-12377:          {"PM_ERR_PROFILESPEC", "NULL pmInDom with non-NULL instlist"},
	ErrPMIDLog:      {"PM_ERR_PMID_LOG", "Metric not defined in the PCP archive log"},
	-12379:          {"PM_ERR_INDOM_LOG", "Instance domain identifier not defined in the PCP archive log"},
	-12380:          {"PM_ERR_INST_LOG", "Instance identifier not defined in the PCP archive log"},
	ErrNoProfile:    {"PM_ERR_NOPROFILE", "Missing profile - protocol botch"},
	ErrNoAgent:      {"PM_ERR_NOAGENT", "No PMCD agent for domain of request"},
	ErrPermission:   {"PM_ERR_PERMISSION", "No permission to perform requested operation"},
	ErrConnLimit:    {"PM_ERR_CONNLIMIT", "PMCD connection limit for this host exceeded"},
	ErrAgain:        {"PM_ERR_AGAIN", "Try again. Information not currently available"},
	-12390:          {"PM_ERR_ISCONN", "Already Connected"},
	ErrNotConn:      {"PM_ERR_NOTCONN", "Not Connected"},
	-12392:          {"PM_ERR_NEEDPORT", "A non-null port name is required"},
	ErrNonLeaf:      {"PM_ERR_NONLEAF", "Metric name is not a leaf in PMNS"},
	ErrType:         {"PM_ERR_TYPE", "Unknown or illegal metric type"},
	-12398:          {"PM_ERR_THREAD", "Operation not supported for multi-threaded applications"},
	ErrNoContainer:  {"PM_ERR_NOCONTAINER", "Container not found"},
	ErrBadStore:     {"PM_ERR_BADSTORE", "Bad input to pmstore"},
	ErrLogOverlap:   {"PM_ERR_LOGOVERLAP", "Archives overlap in time"},
	ErrLogHost:      {"PM_ERR_LOGHOST", "Archives differ by host"},
	-12404:          {"PM_ERR_LOGCHANGETYPE", "The type of a metric has changed in an archive"},
	-12405:          {"PM_ERR_LOGCHANGESEM", "The semantics of a metric has changed in an archive"},
	-12406:          {"PM_ERR_LOGCHANGEINDOM", "The instance domain of a metric has changed in an archive"},
	-12407:          {"PM_ERR_LOGCHANGEUNITS", "The units of a metric have changed in an archive"},
	-12408:          {"PM_ERR_NEEDCLIENTCERT", "PMCD requires a client certificate"},
	ErrBadDerive:    {"PM_ERR_BADDERIVE", "Derived metric definition failed"},
	ErrNoLabels:     {"PM_ERR_NOLABELS", "No support for metric label metadata"},
	ErrPMDAFenced:   {"PM_ERR_PMDAFENCED", "PMDA is currently fenced and unable to respond to requests"},
	ErrRecType:      {"PM_ERR_RECTYPE", "Incorrect record type in an archive"},
	ErrFeature:      {"PM_ERR_FEATURE", "Archive feature not supported"},
	-12414:          {"PM_ERR_TLS", "TLS protocol failure"},
	ErrArg:          {"PM_ERR_ARG", "Bad value for function argument"},
	-12442:          {"PM_ERR_BOTCH", "Internal inconsistency detected or assertion failed"},
	ErrTooSmall:     {"PM_ERR_TOOSMALL", "Insufficient elements in list"},
	ErrTooBig:       {"PM_ERR_TOOBIG", "Result size exceeded"},
	-12445:          {"PM_ERR_FAULT", "QA fault injected"},
	ErrPMDAReady:    {"PM_ERR_PMDAREADY", "PMDA is now responsive to requests"},
	ErrPMDANotReady: {"PM_ERR_PMDANOTREADY", "PMDA is not yet ready to respond to requests"},
	ErrNYI:          {"PM_ERR_NYI", "Functionality not yet implemented"},
}
