package ere

// byteSet is a set of bytes: what one position of a subject may be.
type byteSet [4]uint64

func (s *byteSet) add(b byte) { s[b>>6] |= 1 << (b & 63) }

func (s *byteSet) addRange(first, last byte) {
	for b := int(first); b <= int(last); b++ {
		s.add(byte(b))
	}
}

func (s *byteSet) addSet(other byteSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

func (s *byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

func (s byteSet) complement() byteSet {
	for i := range s {
		s[i] = ^s[i]
	}
	return s
}

func single(b byte) byteSet {
	var s byteSet
	s.add(b)
	return s
}

// classSet returns the members of the character class [:name:] in the C locale, where every byte
// from 128 up is in no class at all.
func classSet(name string) (s byteSet, known bool) {
	ranges, known := classRanges(name)
	for i := 0; i+1 < len(ranges); i += 2 {
		s.addRange(ranges[i], ranges[i+1])
	}
	return s, known
}

// classRanges returns pairs of first and last members.
func classRanges(name string) (ranges string, known bool) {
	switch name {
	case "alnum":
		return "09AZaz", true
	case "alpha":
		return "AZaz", true
	case "blank":
		return "\t\t  ", true
	case "cntrl":
		return "\x00\x1f\x7f\x7f", true
	case "digit":
		return "09", true
	case "graph":
		return "!~", true
	case "lower":
		return "az", true
	case "print":
		return " ~", true
	case "punct":
		return "!/:@[`{~", true
	case "space":
		return "\t\r  ", true
	case "upper":
		return "AZ", true
	case "xdigit":
		return "09AFaf", true
	}
	return "", false
}

// wordSet returns what \w stands for, and what \b, \B, \< and \> call a word.
func wordSet() byteSet {
	s, _ := classSet("alnum")
	s.add('_')
	return s
}
