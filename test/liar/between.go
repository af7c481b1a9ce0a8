package liar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"pmdaderived/pdu"
)

// Between passes pmcd's requests to an agent, and answers with the agent's reply or with a lie. orders is the path of a
// file; if it does not exist or is empty, all answers are true. Between returns when pmcd or the agent closes its pipe.
func Between(in, out *os.File, agent func(in, out *os.File) error, orders string) error {
	fromUs, toAgent, err := os.Pipe()
	if err != nil {
		return err
	}
	fromAgent, toUs, err := os.Pipe()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := agent(fromUs, toUs)
		ended <- errors.Join(err, toUs.Close())
	}()
	b := &between{
		pmcd: pdu.NewReader(in, pdu.AgentLimit), agent: pdu.NewReader(fromAgent, pdu.MaxPDU),
		toAgent: toAgent, toPMCD: out, orders: orders,
	}
	if err := b.serve(); err != nil {
		return err // with it the process ends, and so does the agent
	}
	return errors.Join(toAgent.Close(), <-ended)
}

type between struct {
	pmcd, agent     *pdu.Reader
	toAgent, toPMCD io.Writer
	orders          string
	teller          teller
}

func (b *between) serve() error {
	greeting, err := b.agent.Next()
	if err != nil {
		return err
	}
	if _, err := b.toPMCD.Write(encoded(greeting)); err != nil {
		return err
	}
	for {
		asked, err := b.pmcd.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := b.pass(asked); err != nil {
			return err
		}
	}
}

// pass passes a request to the agent and its answer, or a lie, to pmcd.
func (b *between) pass(asked pdu.Frame) error {
	if _, err := b.toAgent.Write(encoded(asked)); err != nil || !answered(asked.Kind) {
		return err
	}
	reply, err := b.agent.Next()
	if err != nil {
		return err
	}
	order, err := b.order()
	if err != nil {
		return err
	}
	said, err := b.teller.tell(order, asked, reply)
	if err != nil {
		return fmt.Errorf("%s: %w", order, err)
	}
	_, err = b.toPMCD.Write(said)
	return err
}

// order returns the current order; "": none.
func (b *between) order() (string, error) {
	text, err := os.ReadFile(b.orders)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// answered reports whether pmcd waits for an answer.
func answered(k pdu.Kind) bool {
	switch k {
	case pdu.KindCreds, pdu.KindProfile, pdu.KindAttr, pdu.KindError:
		return false
	}
	return true
}

// encoded returns a frame with its header.
func encoded(f pdu.Frame) []byte {
	all := make([]byte, 0, pdu.HeaderSize+len(f.Body))
	for _, word := range []uint32{uint32(pdu.HeaderSize + len(f.Body)), uint32(f.Kind), uint32(f.From)} {
		all = binary.BigEndian.AppendUint32(all, word)
	}
	return append(all, f.Body...)
}
