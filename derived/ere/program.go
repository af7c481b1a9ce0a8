package ere

import "math"

// maxProgram is the largest number of instructions of one pattern. The longest pattern without
// intervals takes about half of it; a{0,32767} takes half, and a quarter more for each byte more.
const maxProgram = 128 << 10

// opcode says what an instruction does.
type opcode uint8

const (
	opMatch   opcode = iota // the pattern has matched
	opByte                  // take one byte that is in sets[arg]; go to next
	opSplit                 // go to next and to other
	opAssert                // if assertion(arg) holds, go to next
	opOpen                  // group arg begins here; go to next
	opClose                 // group arg ends here; go to next
	opBackref               // take the bytes that group arg matched; go to next
)

type instruction struct {
	op          opcode
	arg         uint32
	next, other uint32
}

// program is a pattern as a graph of instructions. It never changes after compile.
type program struct {
	code      []instruction
	start     uint32
	sets      []byteSet
	seesWords bool // an assertion asks for word characters
	backrefs  bool
}

// compiler turns a tree into a program. It works from the end of the pattern to its beginning, so
// that the instruction to continue with is always known.
type compiler struct {
	program
	setIndex map[byteSet]uint32
	referred [lastBackref + 1]bool // groups that a back-reference names; the others leave no trace
}

func compile(root *node) (*program, error) {
	c := &compiler{setIndex: map[byteSet]uint32{}}
	c.findBackrefs(root)
	end, err := c.emit(instruction{op: opMatch})
	if err != nil {
		return nil, err
	}
	if c.start, err = c.node(root, end); err != nil {
		return nil, err
	}
	return &c.program, nil
}

func (c *compiler) findBackrefs(n *node) {
	if n.kind == nodeBackref {
		c.referred[n.group] = true
		c.backrefs = true
	}
	for _, sub := range n.sub {
		c.findBackrefs(sub)
	}
}

func (c *compiler) emit(i instruction) (uint32, error) {
	if len(c.code) == maxProgram {
		return 0, ErrSize
	}
	c.code = append(c.code, i)
	return uint32(len(c.code) - 1), nil
}

// node emits n followed by next and returns where n begins.
func (c *compiler) node(n *node, next uint32) (uint32, error) {
	switch n.kind {
	case nodeSet:
		return c.emit(instruction{op: opByte, arg: c.set(n.set), next: next})
	case nodeAssert:
		c.seesWords = c.seesWords || n.assertion.seesWords()
		return c.emit(instruction{op: opAssert, arg: uint32(n.assertion), next: next})
	case nodeBackref:
		return c.emit(instruction{op: opBackref, arg: uint32(n.group), next: next})
	case nodeConcat:
		return c.concat(n.sub, next)
	case nodeAlternate:
		return c.alternate(n.sub, next)
	case nodeRepeat:
		return c.repeat(n, next)
	case nodeGroup:
		return c.group(n, next)
	default: // nodeEmpty
		return next, nil
	}
}

func (c *compiler) set(s byteSet) uint32 {
	i, known := c.setIndex[s]
	if !known {
		i = uint32(len(c.sets))
		c.setIndex[s] = i
		c.sets = append(c.sets, s)
	}
	return i
}

func (c *compiler) concat(nodes []*node, next uint32) (uint32, error) {
	var err error
	for i := len(nodes) - 1; i >= 0 && err == nil; i-- {
		next, err = c.node(nodes[i], next)
	}
	return next, err
}

func (c *compiler) alternate(nodes []*node, next uint32) (uint32, error) {
	var chain uint32
	for i := len(nodes) - 1; i >= 0; i-- {
		branch, err := c.node(nodes[i], next)
		if err != nil {
			return 0, err
		}
		if i == len(nodes)-1 {
			chain = branch
			continue
		}
		if chain, err = c.emit(instruction{op: opSplit, next: branch, other: chain}); err != nil {
			return 0, err
		}
	}
	return chain, nil
}

// repeat emits "x{2,4}" as "xx(x(x)?)?", "x{3,}" as "xxx+" and "x*" as "(x+)?".
func (c *compiler) repeat(n *node, next uint32) (uint32, error) {
	body := n.sub[0]
	if n.max == unlimited {
		at, err := c.loop(body, next, n.min == 0)
		if err != nil {
			return 0, err
		}
		return c.copies(body, max(n.min-1, 0), at, never)
	}
	at, err := c.copies(body, n.max-n.min, next, next)
	if err != nil {
		return 0, err
	}
	if at == next && n.max > n.min {
		return at, nil // the body is empty; asking it again at every level takes 2^depth steps
	}
	return c.copies(body, n.min, at, never)
}

// never is an exit that copies does not make.
const never = math.MaxUint32

// copies emits n times body; unless exit is never, each of them can be left out, which leads
// there.
func (c *compiler) copies(body *node, n int, next, exit uint32) (uint32, error) {
	at := next
	for range n {
		size := len(c.code)
		var err error
		if at, err = c.node(body, at); err != nil {
			return 0, err
		}
		if len(c.code) == size {
			break // the body is empty, and a pattern can ask for 32767³ copies of it
		}
		if exit == never {
			continue
		}
		if at, err = c.emit(instruction{op: opSplit, next: at, other: exit}); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// loop emits body one or more times or, if optional, any number of times.
func (c *compiler) loop(body *node, next uint32, optional bool) (uint32, error) {
	again, err := c.emit(instruction{op: opSplit, other: next})
	if err != nil {
		return 0, err
	}
	start, err := c.node(body, again)
	if err != nil {
		return 0, err
	}
	c.code[again].next = start
	if optional {
		return again, nil
	}
	return start, nil
}

func (c *compiler) group(n *node, next uint32) (uint32, error) {
	if n.group > lastBackref || !c.referred[n.group] {
		return c.node(n.sub[0], next)
	}
	end, err := c.emit(instruction{op: opClose, arg: uint32(n.group), next: next})
	if err != nil {
		return 0, err
	}
	start, err := c.node(n.sub[0], end)
	if err != nil {
		return 0, err
	}
	return c.emit(instruction{op: opOpen, arg: uint32(n.group), next: start})
}
