package pdu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		kind Kind
		name string
		want Message
	}{
		{0x7000, "ERROR", &Error{}},
		{0x7001, "RESULT", &Result{}},
		{0x7002, "PROFILE", &Profile{}},
		{0x7003, "FETCH", &Fetch{}},
		{0x7004, "DESC_REQ", &DescReq{}},
		{0x7005, "DESC", &DescReply{}},
		{0x7006, "INSTANCE_REQ", &InstanceReq{}},
		{0x7007, "INSTANCE", &InstanceReply{}},
		{0x7008, "TEXT_REQ", &TextReq{}},
		{0x7009, "TEXT", &Text{}},
		{0x700a, "CONTROL_REQ", nil},
		{0x700b, "Kind(0x700b)", nil},
		{0x700c, "CREDS", &Creds{}},
		{0x700d, "PMNS_IDS", &PMNSIDs{}},
		{0x700e, "PMNS_NAMES", &PMNSNames{}},
		{0x700f, "PMNS_CHILD", &PMNSChild{}},
		{0x7010, "PMNS_TRAVERSE", &PMNSTraverse{}},
		{0x7011, "ATTR", &Attr{}},
		{0x7012, "LABEL_REQ", &LabelReq{}},
		{0x7013, "LABEL", &Labels{}},
		{0x7014, "HIGHRES_FETCH", &HighResFetch{}},
		{0x7015, "HIGHRES_RESULT", &HighResResult{}},
		{0x7016, "DESC_IDS", &DescIDs{}},
		{0x7017, "DESCS", &Descs{}},
		{0x7018, "Kind(0x7018)", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.name, tt.kind.String())
			text, err := tt.kind.MarshalText()
			require.NoError(t, err)
			assert.Equal(t, tt.name, string(text))
			m := New(tt.kind)
			if tt.want == nil {
				assert.Nil(t, m)
				_, err := Decode(Frame{Kind: tt.kind})
				assert.ErrorIs(t, err, ErrIPC)
				return
			}
			assert.Equal(t, tt.want, m)
			assert.Equal(t, tt.kind, m.Kind())
		})
	}
}
