package pdu

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Code is a PMAPI error code (PM_ERR_*, -12345 and below) or a negated errno. It is an error
// whose text is that of pmErrStr(3) in PCP 6.0.3. Zero is success; above zero it is no error but
// a state change (Change). Source: docs/protocol.md 3.9.
type Code int32

// The codes of the PMAPI. Codes about archives occur here for their texts only.
const (
	ErrGeneric        Code = -12345
	ErrPMNS           Code = -12346
	ErrNoPMNS         Code = -12347
	ErrDupPMNS        Code = -12348
	ErrText           Code = -12349
	ErrAppVersion     Code = -12350
	ErrValue          Code = -12351
	ErrTimeout        Code = -12353
	ErrNoData         Code = -12354
	ErrReset          Code = -12355
	ErrName           Code = -12357
	ErrPMID           Code = -12358
	ErrInDom          Code = -12359
	ErrInst           Code = -12360
	ErrUnit           Code = -12361
	ErrConv           Code = -12362
	ErrTrunc          Code = -12363
	ErrSign           Code = -12364
	ErrProfile        Code = -12365
	ErrIPC            Code = -12366
	ErrEOF            Code = -12368
	ErrNotHost        Code = -12369
	ErrEOL            Code = -12370
	ErrMode           Code = -12371
	ErrLabel          Code = -12372
	ErrLogRec         Code = -12373
	ErrNotArchive     Code = -12374
	ErrLogFile        Code = -12375
	ErrNoContext      Code = -12376
	ErrProfileSpec    Code = -12377
	ErrPMIDLog        Code = -12378
	ErrInDomLog       Code = -12379
	ErrInstLog        Code = -12380
	ErrNoProfile      Code = -12381
	ErrNoAgent        Code = -12386
	ErrPermission     Code = -12387
	ErrConnLimit      Code = -12388
	ErrAgain          Code = -12389
	ErrIsConn         Code = -12390
	ErrNotConn        Code = -12391
	ErrNeedPort       Code = -12392
	ErrNonLeaf        Code = -12394
	ErrType           Code = -12397
	ErrThread         Code = -12398
	ErrNoContainer    Code = -12399
	ErrBadStore       Code = -12400
	ErrLogOverlap     Code = -12401
	ErrLogHost        Code = -12402
	ErrLogChangeType  Code = -12404
	ErrLogChangeSem   Code = -12405
	ErrLogChangeInDom Code = -12406
	ErrLogChangeUnits Code = -12407
	ErrNeedClientCert Code = -12408
	ErrBadDerive      Code = -12409
	ErrNoLabels       Code = -12410
	ErrPMDAFenced     Code = -12411
	ErrRecType        Code = -12412
	ErrFeature        Code = -12413
	ErrTLS            Code = -12414
	ErrArg            Code = -12415 // since 6.0.4
	ErrBotch          Code = -12442
	ErrTooSmall       Code = -12443
	ErrTooBig         Code = -12444
	ErrFault          Code = -12445
	ErrPMDAReady      Code = -13393
	ErrPMDANotReady   Code = -13394
	ErrNYI            Code = -21344
)

// Ranges of codes that have other origins. From ErrNYI down they are a library's own code plus
// ErrNYI.
const (
	lastErrno Code = -12344 // down to here negated errnos
	lastSASL  Code = -1000  // down to here a library's code is SASL's, below it is TLS's
)

// Error gives the text of pmErrStr(3). The texts of SASL's own codes are left to their number.
func (c Code) Error() string {
	if _, text := c.describe(); text != "" {
		return text
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

// errnoText gives the text of strerror(3): Go's begins with a small letter.
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

// Name gives the symbol, "PM_ERR_IPC", or the number of a code that has none.
func (c Code) Name() string {
	if name, _ := c.describe(); name != "" {
		return name
	}
	return itoa(c)
}

// ParseCode reads a symbol, "PM_ERR_IPC".
func ParseCode(s string) (Code, error) {
	for c := ErrGeneric; c >= ErrPMDANotReady; c-- {
		if name, _ := c.describe(); name != "" && name == s {
			return c, nil
		}
	}
	if name, _ := ErrNYI.describe(); name == s {
		return ErrNYI, nil
	}
	return 0, fmt.Errorf("error code %q: want a symbol such as PM_ERR_AGAIN", s)
}

// CodeOf returns the Code that err wraps, or the negated errno, or else ErrGeneric; 0 for nil.
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

// Change is a set of state changes that pmcd tells its clients about before a RESULT
// (PMCD_*_CHANGE). An agent sets ChangeLabels and ChangeNames only. Source: docs/protocol.md 4.6, 5.7.
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

// String gives the names, joined by "|".
func (c Change) String() string {
	return bitNames(uint32(c), "ADD_AGENT", "RESTART_AGENT", "DROP_AGENT", "LABEL_CHANGE", "NAMES_CHANGE",
		"HOSTNAME_CHANGE")
}

// MarshalText makes text and JSON logs agree.
func (c Change) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// describe returns the symbol and the text of a code of the PMAPI, or nothing for other codes.
func (c Code) describe() (name, text string) {
	switch c {
	case ErrGeneric:
		return "PM_ERR_GENERIC", "Generic error, already reported above"
	case ErrPMNS:
		return "PM_ERR_PMNS", "Problems parsing PMNS definitions"
	case ErrNoPMNS:
		return "PM_ERR_NOPMNS", "PMNS not accessible"
	case ErrDupPMNS:
		return "PM_ERR_DUPPMNS", "Attempt to reload the PMNS"
	case ErrText:
		return "PM_ERR_TEXT", "One-line or help text is not available"
	case ErrAppVersion:
		return "PM_ERR_APPVERSION", "Metric not supported by this version of monitored application"
	case ErrValue:
		return "PM_ERR_VALUE", "Missing metric value(s)"
	case ErrTimeout:
		return "PM_ERR_TIMEOUT", "Timeout waiting for a response from PMCD"
	case ErrNoData:
		return "PM_ERR_NODATA", "Empty archive log file"
	case ErrReset:
		return "PM_ERR_RESET", "PMCD reset or configuration change"
	case ErrName:
		return "PM_ERR_NAME", "Unknown metric name"
	case ErrPMID:
		return "PM_ERR_PMID", "Unknown or illegal metric identifier"
	case ErrInDom:
		return "PM_ERR_INDOM", "Unknown or illegal instance domain identifier"
	case ErrInst:
		return "PM_ERR_INST", "Unknown or illegal instance identifier"
	case ErrUnit:
		return "PM_ERR_UNIT", "Illegal pmUnits specification"
	case ErrConv:
		return "PM_ERR_CONV", "Impossible value or scale conversion"
	case ErrTrunc:
		return "PM_ERR_TRUNC", "Truncation in value conversion"
	case ErrSign:
		return "PM_ERR_SIGN", "Negative value in conversion to unsigned"
	case ErrProfile:
		return "PM_ERR_PROFILE", "Explicit instance identifier(s) required"
	case ErrIPC:
		return "PM_ERR_IPC", "IPC protocol failure"
	case ErrEOF:
		return "PM_ERR_EOF", "IPC channel closed"
	case ErrNotHost:
		return "PM_ERR_NOTHOST", "Operation requires context with host source of metrics"
	case ErrEOL:
		return "PM_ERR_EOL", "End of PCP archive log"
	case ErrMode:
		return "PM_ERR_MODE", "Illegal mode specification"
	case ErrLabel:
		return "PM_ERR_LABEL", "Illegal label record at start of a PCP archive log file"
	case ErrLogRec:
		return "PM_ERR_LOGREC", "Corrupted record in a PCP archive log"
	case ErrNotArchive:
		return "PM_ERR_NOTARCHIVE", "Operation requires context with archive source of metrics"
	case ErrLogFile:
		return "PM_ERR_LOGFILE", "Missing PCP archive log file"
	case ErrNoContext:
		return "PM_ERR_NOCONTEXT", "Attempt to use an illegal context"
	case ErrProfileSpec:
		return "PM_ERR_PROFILESPEC", "NULL pmInDom with non-NULL instlist"
	case ErrPMIDLog:
		return "PM_ERR_PMID_LOG", "Metric not defined in the PCP archive log"
	case ErrInDomLog:
		return "PM_ERR_INDOM_LOG", "Instance domain identifier not defined in the PCP archive log"
	case ErrInstLog:
		return "PM_ERR_INST_LOG", "Instance identifier not defined in the PCP archive log"
	case ErrNoProfile:
		return "PM_ERR_NOPROFILE", "Missing profile - protocol botch"
	case ErrNoAgent:
		return "PM_ERR_NOAGENT", "No PMCD agent for domain of request"
	case ErrPermission:
		return "PM_ERR_PERMISSION", "No permission to perform requested operation"
	case ErrConnLimit:
		return "PM_ERR_CONNLIMIT", "PMCD connection limit for this host exceeded"
	case ErrAgain:
		return "PM_ERR_AGAIN", "Try again. Information not currently available"
	case ErrIsConn:
		return "PM_ERR_ISCONN", "Already Connected"
	case ErrNotConn:
		return "PM_ERR_NOTCONN", "Not Connected"
	case ErrNeedPort:
		return "PM_ERR_NEEDPORT", "A non-null port name is required"
	case ErrNonLeaf:
		return "PM_ERR_NONLEAF", "Metric name is not a leaf in PMNS"
	case ErrType:
		return "PM_ERR_TYPE", "Unknown or illegal metric type"
	case ErrThread:
		return "PM_ERR_THREAD", "Operation not supported for multi-threaded applications"
	case ErrNoContainer:
		return "PM_ERR_NOCONTAINER", "Container not found"
	case ErrBadStore:
		return "PM_ERR_BADSTORE", "Bad input to pmstore"
	case ErrLogOverlap:
		return "PM_ERR_LOGOVERLAP", "Archives overlap in time"
	case ErrLogHost:
		return "PM_ERR_LOGHOST", "Archives differ by host"
	case ErrLogChangeType:
		return "PM_ERR_LOGCHANGETYPE", "The type of a metric has changed in an archive"
	case ErrLogChangeSem:
		return "PM_ERR_LOGCHANGESEM", "The semantics of a metric has changed in an archive"
	case ErrLogChangeInDom:
		return "PM_ERR_LOGCHANGEINDOM", "The instance domain of a metric has changed in an archive"
	case ErrLogChangeUnits:
		return "PM_ERR_LOGCHANGEUNITS", "The units of a metric have changed in an archive"
	case ErrNeedClientCert:
		return "PM_ERR_NEEDCLIENTCERT", "PMCD requires a client certificate"
	case ErrBadDerive:
		return "PM_ERR_BADDERIVE", "Derived metric definition failed"
	case ErrNoLabels:
		return "PM_ERR_NOLABELS", "No support for metric label metadata"
	case ErrPMDAFenced:
		return "PM_ERR_PMDAFENCED", "PMDA is currently fenced and unable to respond to requests"
	case ErrRecType:
		return "PM_ERR_RECTYPE", "Incorrect record type in an archive"
	case ErrFeature:
		return "PM_ERR_FEATURE", "Archive feature not supported"
	case ErrTLS:
		return "PM_ERR_TLS", "TLS protocol failure"
	case ErrArg:
		return "PM_ERR_ARG", "Bad value for function argument"
	case ErrBotch:
		return "PM_ERR_BOTCH", "Internal inconsistency detected or assertion failed"
	case ErrTooSmall:
		return "PM_ERR_TOOSMALL", "Insufficient elements in list"
	case ErrTooBig:
		return "PM_ERR_TOOBIG", "Result size exceeded"
	case ErrFault:
		return "PM_ERR_FAULT", "QA fault injected"
	case ErrPMDAReady:
		return "PM_ERR_PMDAREADY", "PMDA is now responsive to requests"
	case ErrPMDANotReady:
		return "PM_ERR_PMDANOTREADY", "PMDA is not yet ready to respond to requests"
	case ErrNYI:
		return "PM_ERR_NYI", "Functionality not yet implemented"
	}
	return "", ""
}
