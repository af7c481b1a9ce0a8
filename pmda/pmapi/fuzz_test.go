package pmapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// FuzzServer lets a server answer anything to every call, after a good greeting or from the first
// byte on. No call may panic, hang, or take memory that the bytes do not justify, and what ends one
// call ends the connection.
func FuzzServer(f *testing.F) {
	all := calls()
	paths, err := filepath.Glob("testdata/conv-*.txt")
	require.NoError(f, err)
	for _, path := range paths {
		var answers []byte
		for i, r := range readConversation(f, path) {
			if !r.fromClient && i > 0 {
				answers = append(answers, r.frame...)
			}
		}
		f.Add(true, uint8(0), uint16(pmapitest.AllFeatures), answers)
	}
	for i, call := range all {
		answer := call.reply.Append(nil, 0)
		f.Add(true, uint8(i), uint16(pmapitest.AllFeatures), answer)
		for at := pdu.HeaderSize; at+4 <= len(answer); at += 4 { // such lengths and offsets made libpcp read beyond its memory
			for _, word := range []uint32{0xfffffffb, 0x7fffffff} {
				wrong := bytes.Clone(answer)
				binary.BigEndian.PutUint32(wrong[at:], word)
				f.Add(true, uint8(i), uint16(pmapitest.AllFeatures), wrong)
			}
		}
		f.Add(true, uint8(i), uint16(0), answer)
		f.Add(true, uint8(i), uint16(pmapitest.AllFeatures), (&pdu.Error{Code: 1}).Append(nil, 0))
		f.Add(true, uint8(i), uint16(pmapitest.AllFeatures), (&pdu.Error{Code: -1}).Append(answer, 0))
		f.Add(true, uint8(i), uint16(pmapitest.AllFeatures), (&pdu.Error{Code: pdu.ErrTimeout}).Append(nil, 0))
		f.Add(true, uint8(i), uint16(pmapitest.AllFeatures), []byte{0x0f, 0, 0, 0, 0, 0, 0x70, 1, 0, 0, 0, 0})
	}
	challenge := (&pdu.Error{Extended: true, Challenge: pdu.Challenge{Version: 2}}).Append(nil, 0)
	f.Add(false, uint8(0), uint16(0), (&pdu.DescReply{Desc: oneOfType(hostName)}).Append(challenge, 0))
	f.Add(false, uint8(0), uint16(0), []byte("SSH-2.0-OpenSSH_9.2p1"))

	f.Fuzz(func(t *testing.T, greet bool, which uint8, features uint16, answers []byte) {
		address := pmapitest.Listen(t, "unix", func(p *pmapitest.Peer) {
			if greet {
				p.Greet(pdu.Features(features))
				p.Next() // what is sent now answers the first call
			}
			p.SendBytes(answers)
		})
		before := allocated()
		ctx, cancel := context.WithTimeout(context.Background(), await.Limit)
		defer cancel()
		c, err := pmapi.Dial(ctx, "unix", address)
		if greet {
			require.NoError(t, err)
		}
		if err != nil {
			return
		}
		// The server closes when it has sent everything, so this ends.
		for i := int(which); c.Err() == nil; i++ {
			_, err := all[i%len(all)].do(ctx, c)
			require.NoError(t, ctx.Err(), "nothing is waited for that cannot come")
			require.NotErrorIs(t, c.Err(), pdu.ErrTimeout, "that would be ours; an answer may have the code")
			if err == nil && c.Err() == nil {
				require.False(t, c.FetchOutstanding())
			}
		}
		_, err = c.Desc(ctx, longOne)
		require.Equal(t, c.Err(), err)
		require.NoError(t, c.Close())
		const base, perByte = 4 << 20, 1 << 10
		require.Less(t, allocated()-before, uint64(base+perByte*len(answers)))
	})
}

// allocated is the number of bytes allocated since the start of the program.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
