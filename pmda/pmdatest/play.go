package pmdatest

import (
	"bytes"
	"io"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Play runs a server for a pmcd that sends stream, for fuzzing and for recorded streams. It returns the bytes of all
// replies and the error of Serve. Like pmcd it waits for the reply to a request before it sends the next PDU. From the
// first bytes that are no PDU it sends the rest of stream at once.
func Play(tb TB, s *pmda.Server, stream []byte) (replies []byte, err error) {
	tb.Helper()
	p := StartServer(tb, s)
	p.closed = true
	defer p.from.Close()
	defer p.cancel()
	var all bytes.Buffer
	p.reader = pdu.NewReader(io.TeeReader(p.from, &all), pdu.ClientLimit)
	p.setDeadline(p.to)
	p.setDeadline(p.from)
	if !s.Greeted {
		_, _ = p.reader.Next()
	}
	requests, sent := pdu.NewReader(bytes.NewReader(stream), pdu.AgentLimit), 0
	for {
		f, frameErr := requests.Next()
		if frameErr != nil {
			break
		}
		n := pdu.HeaderSize + len(f.Body)
		_, _ = p.to.Write(stream[sent : sent+n])
		sent += n
		if Answer(f.Kind) != 0 {
			_, _ = p.reader.Next() // an error means that the agent has ended; then writing fails, too
		}
	}
	_, _ = p.to.Write(stream[sent:])
	p.to.Close()
	for err == nil {
		_, err = p.reader.Next()
	}
	select {
	case err = <-p.served:
	case <-time.After(p.Timeout):
		tb.Fatalf("pmdatest: Serve has not returned %v after the end of the pipe", p.Timeout)
	}
	return all.Bytes(), err
}

// Answer returns the kind of a good reply to a PDU of kind k, 0 for a PDU that an agent does not answer.
func Answer(k pdu.Kind) pdu.Kind {
	return map[pdu.Kind]pdu.Kind{
		pdu.KindFetch:        pdu.KindResult,
		pdu.KindDescReq:      pdu.KindDesc,
		pdu.KindInstanceReq:  pdu.KindInstance,
		pdu.KindTextReq:      pdu.KindText,
		pdu.KindLabelReq:     pdu.KindLabel,
		pdu.KindPMNSNames:    pdu.KindPMNSIDs,
		pdu.KindPMNSIDs:      pdu.KindPMNSNames,
		pdu.KindPMNSChild:    pdu.KindPMNSNames,
		pdu.KindPMNSTraverse: pdu.KindPMNSNames,
		pdu.KindResult:       pdu.KindError,
	}[k]
}
