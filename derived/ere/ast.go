package ere

// nodeKind says which fields of a node count.
type nodeKind uint8

const (
	nodeEmpty     nodeKind = iota // matches the empty string
	nodeSet                       // one byte out of set
	nodeAssert                    // assertion: a condition on both neighbours, no byte
	nodeConcat                    // sub, one after the other
	nodeAlternate                 // any one of sub
	nodeRepeat                    // sub[0], min to max times
	nodeGroup                     // sub[0], remembered as group
	nodeBackref                   // the bytes that group matched
)

// unlimited is the max of a repetition without an upper bound.
const unlimited = -1

// node is one vertex of a parsed pattern.
type node struct {
	kind      nodeKind
	assertion assertion
	group     int // 1 is the first "(" of the pattern
	min, max  int
	set       byteSet
	sub       []*node
	depth     int // 1, and 1 more for each group and repetition on the longest way down
}

// assertion is a condition on the place between two bytes.
type assertion uint8

const (
	atStart       assertion = iota // ^ and \`: the subject begins here
	atEnd                          // $ and \': the subject ends here
	atWordStart                    // \<: no word character before, one after
	atWordEnd                      // \>: a word character before, none after
	atWordEdge                     // \b: either of the two
	notAtWordEdge                  // \B: neither of the two
)

// neighbour is what an assertion can see of the byte before or after a place.
type neighbour uint8

const (
	neighbourNone  neighbour = iota // the subject begins or ends here
	neighbourWord                   // a letter, a digit or _
	neighbourOther                  // any other byte
)

func (a assertion) holds(before, after neighbour) bool {
	wordBefore, wordAfter := before == neighbourWord, after == neighbourWord
	switch a {
	case atStart:
		return before == neighbourNone
	case atEnd:
		return after == neighbourNone
	case atWordStart:
		return !wordBefore && wordAfter
	case atWordEnd:
		return wordBefore && !wordAfter
	case atWordEdge:
		return wordBefore != wordAfter
	default: // notAtWordEdge
		return wordBefore == wordAfter
	}
}

// seesWords says whether the assertion depends on word characters at all.
func (a assertion) seesWords() bool { return a > atEnd }
