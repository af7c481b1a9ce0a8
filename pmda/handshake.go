package pmda

import (
	"errors"
	"fmt"
	"io"
	"os"

	"pmdaderived/pdu"
)

// Greet sends the agent's CREDS, the first PDU on the pipe. pmcd waits for it for 3 s after it has
// started the agent, serves no client meanwhile, and does not start an agent again that was late. So
// a program calls Greet before anything slow, and sets [Server.Greeted]; other programs leave it to Serve.
// attributes asks pmcd to send the attributes of its clients, which an [AttributeWatcher] needs.
// Source: docs/protocol.md 4.2.
func Greet(out io.Writer, attributes bool) error {
	creds := pdu.Creds{Version: pdu.ProtocolVersion}
	if attributes {
		creds.Features = pdu.FeatureAuth
	}
	if err := pdu.NewWriter(out).Write(&creds, int32(os.Getpid())); err != nil {
		return fmt.Errorf("handshake: credentials: %w", err)
	}
	return nil
}

// awaitCreds reads pmcd's CREDS. Their content is not used: the protocol has one version, and the features
// repeat ours.
func (s *session) awaitCreds() error {
	f, err := s.in.Next()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("handshake: pmcd closed the pipe: %w", err)
	}
	if err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if f.Kind != pdu.KindCreds {
		return fmt.Errorf("handshake: first pdu is %s instead of %s", f.Kind, pdu.KindCreds)
	}
	var creds pdu.Creds
	if err := creds.Decode(f.Body); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	s.log.WithField("pmcd", f.From).Debug("handshake done")
	return nil
}
