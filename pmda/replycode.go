package pmda

import (
	"syscall"

	"pmdaderived/pdu"
)

// replyCode picks the code that goes into an ERROR in place of a reply. Some codes must never be
// there: PM_ERR_IPC, PM_ERR_TIMEOUT and -EPIPE make pmcd drop the agent; the not-ready pair switches
// pmcd's idea of the agent; a code ≥ 0 is a state change or a success. They reach an agent all
// the same, as errors of the places it got its values from. Source: docs/protocol.md 6.1, 6.2, 4.7.
func replyCode(err error) pdu.Code {
	switch code := pdu.CodeOf(err); {
	case code == pdu.ErrPMDANotReady:
		return pdu.ErrAgain
	case code >= 0, code == pdu.ErrIPC, code == pdu.ErrTimeout, code == -pdu.Code(syscall.EPIPE),
		code == pdu.ErrPMDAReady:
		return pdu.ErrGeneric
	default:
		return code
	}
}
