package ere

// classes divides the bytes into columns: all bytes of one column are in the same sets of a
// program, and so have the same effect. The last column is the end of the subject; NUL is in it,
// because it ends a subject as it ends a C string.
type classes struct {
	class      [256]uint16
	sample     []byte      // a byte of each column but the last
	neighbours []neighbour // what an assertion sees of each column
}

func (c *classes) columns() int { return len(c.neighbours) }

func (c *classes) end() int { return len(c.sample) }

func classify(p *program) classes {
	var c classes
	c.sample = []byte{1}
	for _, set := range p.sets {
		c.divide(set)
	}
	word := wordSet()
	if p.seesWords {
		c.divide(word)
	}
	for _, b := range c.sample {
		seen := neighbourOther
		if p.seesWords && word.has(b) {
			seen = neighbourWord
		}
		c.neighbours = append(c.neighbours, seen)
	}
	c.class[0] = uint16(c.end())
	c.neighbours = append(c.neighbours, neighbourNone)
	return c
}

// divide makes a second column of every column that set divides.
func (c *classes) divide(set byteSet) {
	split := map[uint16]uint16{} // column → the one its other half goes to
	for b := 1; b < len(c.class); b++ {
		from := c.class[b]
		if set.has(byte(b)) == set.has(c.sample[from]) {
			continue
		}
		to, known := split[from]
		if !known {
			to = uint16(len(c.sample))
			split[from] = to
			c.sample = append(c.sample, byte(b))
		}
		c.class[b] = to
	}
}
