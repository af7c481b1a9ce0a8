package pdu

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPMID(t *testing.T) {
	for _, tt := range []struct {
		text                  string
		id                    PMID
		domain, cluster, item int
	}{
		{"0.0.0", 0, 0, 0, 0},
		{"29.0.32", 0x07400020, 29, 0, 32},
		{"60.0.4", 0x0f000004, 60, 0, 4},
		{"511.4095.1023", 0x7fffffff, 511, 4095, 1023},
		{"PM_ID_NULL", NoPMID, 511, 4095, 1023},
	} {
		t.Run(tt.text, func(t *testing.T) {
			assert.Equal(t, tt.text, tt.id.String())
			assert.Equal(t, []int{tt.domain, tt.cluster, tt.item}, []int{tt.id.Domain(), tt.id.Cluster(), tt.id.Item()})
			got, err := ParsePMID(tt.text)
			require.NoError(t, err)
			assert.Equal(t, tt.id, got)
			if tt.id != NoPMID {
				assert.Equal(t, tt.id, NewPMID(tt.domain, tt.cluster, tt.item))
			}
			text, err := json.Marshal(tt.id)
			require.NoError(t, err)
			assert.Equal(t, `"`+tt.text+`"`, string(text))
			var back PMID
			require.NoError(t, json.Unmarshal(text, &back))
			assert.Equal(t, tt.id, back)
		})
	}
	assert.Equal(t, 29, PMID(0x87400020).Domain(), "the highest bit is the library's own")
	assert.Equal(t, NewPMID(1, 2, 3), NewPMID(512+1, 4096+2, 1024+3))
}

func TestInDom(t *testing.T) {
	for _, tt := range []struct {
		text           string
		d              InDom
		domain, serial int
	}{
		{"0.0", 0, 0, 0},
		{"60.1", 0x0f000001, 60, 1},
		{"511.4194303", 0x7fffffff, 511, 4194303},
		{"PM_INDOM_NULL", NoInDom, 511, 4194303},
	} {
		t.Run(tt.text, func(t *testing.T) {
			assert.Equal(t, tt.text, tt.d.String())
			assert.Equal(t, []int{tt.domain, tt.serial}, []int{tt.d.Domain(), tt.d.Serial()})
			got, err := ParseInDom(tt.text)
			require.NoError(t, err)
			assert.Equal(t, tt.d, got)
			if tt.d != NoInDom {
				assert.Equal(t, tt.d, NewInDom(tt.domain, tt.serial))
			}
			text, err := json.Marshal(tt.d)
			require.NoError(t, err)
			var back InDom
			require.NoError(t, json.Unmarshal(text, &back))
			assert.Equal(t, tt.d, back)
		})
	}
}

func TestIdentifiersRefused(t *testing.T) {
	for _, text := range []string{"", "1", "1.2", "1.2.3.4", "a.2.3", "1..3", "-1.2.3", "+1.2.3", "512.0.0", "0.4096.0", "0.0.1024", " 1.2.3", "1.2.99999999999"} {
		_, err := ParsePMID(text)
		assert.Error(t, err, "%q", text)
		assert.Error(t, new(PMID).UnmarshalText([]byte(text)), "%q", text)
	}
	for _, text := range []string{"", "1", "1.2.3", "a.2", "1.", "512.0", "0.4194304", "1.-2"} {
		_, err := ParseInDom(text)
		assert.Error(t, err, "%q", text)
		assert.Error(t, new(InDom).UnmarshalText([]byte(text)), "%q", text)
	}
}
