package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"pmdaderived/pdu"
)

// record is a record of a volume.
type record struct {
	time    time.Time
	mark    bool
	version int
	body    []byte // what is between the lengths; valid until the next one is read
}

// recordTime reads the time of a record; ok is false if it is too short.
func recordTime(body []byte, version int) (t time.Time, ok bool) {
	f := fields{b: body}
	t = f.time(version)
	f.u32() // number of metrics
	return t, !f.failed
}

// cursor reads the records of all volumes of all archives one after the other. Between two archives there is a mark.
type cursor struct {
	a      *Archive
	part   int     // of a.parts; len(a.parts): the end
	volume int     // of the part
	of     *volume // that is open, nil: none
	frames *frames
	last   time.Time // of the record before, in this part
	mark   bool      // a mark is due
	at     position  // of the record that was read last
}

// position is a place that a cursor can go back to.
type position struct {
	part, volume int
	off          int64 // 0: the begin of the volume
	mark         bool
	last         time.Time
}

// before reports whether p is in front of q.
func (p position) before(q position) bool {
	return cmp.Or(cmp.Compare(p.part, q.part), cmp.Compare(p.volume, q.volume), cmp.Compare(p.off, q.off)) < 0
}

func (c *cursor) position() position {
	p := position{part: c.part, volume: c.volume, mark: c.mark, last: c.last}
	if c.of != nil {
		p.off = c.frames.off
	}
	return p
}

// move goes to a position.
func (c *cursor) move(p position) error {
	c.mark, c.last = p.mark, p.last
	if c.of == nil || c.part != p.part || c.volume != p.volume {
		c.close()
		c.part, c.volume = p.part, p.volume
		if p.off == 0 || p.part == len(c.a.parts) {
			return nil // next opens it
		}
		if err := c.enter(); err != nil {
			return err
		}
	}
	if p.off == 0 {
		c.close()
	} else {
		c.frames.seek(p.off)
	}
	return nil
}

// close lets go of the volume.
func (c *cursor) close() {
	if c.of != nil {
		c.a.pool.release(c.of)
		c.of = nil
	}
}

// enter opens the volume that the cursor is at, behind its label.
func (c *cursor) enter() error {
	v := c.a.parts[c.part].volumes[c.volume]
	f, err := c.a.pool.acquire(v)
	if err != nil {
		return err
	}
	c.of = v
	c.frames = framesAt(f, 0)
	label, err := readLabel(c.frames)
	if err == nil && label.Version != v.version {
		err = &DamageError{File: v.path, Reason: fmt.Sprintf("the volume is of version %d, the archive of %d", label.Version, v.version), Code: pdu.ErrLabel}
	}
	if err != nil {
		c.close()
	}
	return err
}

// next returns the next record. At the end it gives io.EOF. Any other error says that the rest of a volume is not read: the next record is that
// of the next volume.
func (c *cursor) next() (record, error) {
	for {
		if c.part == len(c.a.parts) {
			return record{}, io.EOF
		}
		if c.mark {
			c.at, c.mark = c.position(), false
			return record{time: c.last.Add(time.Millisecond), mark: true}, nil
		}
		if c.of == nil {
			if err := c.enter(); err != nil {
				c.leave()
				return record{}, err
			}
		}
		c.at = c.position()
		body, err := c.frames.next()
		if err != nil {
			c.leave()
			if errors.Is(err, io.EOF) {
				continue
			}
			return record{}, err
		}
		r := record{version: c.of.version, body: body}
		var ok bool
		if r.time, ok = recordTime(body, r.version); !ok {
			err := &DamageError{File: c.of.path, Offset: c.at.off, Reason: "the record is too short", Code: pdu.ErrLogRec}
			c.leave()
			return record{}, err
		}
		head := fields{b: body, off: headSize(r.version) - 4}
		r.mark = head.u32() == 0
		c.last = r.time
		return r, nil
	}
}

// headSize is the size of what is in front of the sets of a record, in bytes.
func headSize(version int) int {
	if version == 2 {
		return 12
	}
	return 16
}

// leave goes to the begin of the next volume.
func (c *cursor) leave() {
	c.close()
	c.volume++
	if c.volume >= len(c.a.parts[c.part].volumes) {
		c.part, c.volume = c.part+1, 0
		c.mark = c.part < len(c.a.parts)
	}
}

// place is a position that is known by its time: no record later than that is before it.
type place struct {
	t time.Time
	position
}

// findPlaces gathers the places that the indexes know, by time, with the begin of each archive.
func (a *Archive) findPlaces() {
	for i, p := range a.parts {
		a.places = append(a.places, place{p.Start, position{part: i, last: p.Start}})
		for _, e := range p.index {
			v := slices.IndexFunc(p.volumes, func(v *volume) bool { return v.number == e.volume })
			if v < 0 || e.off == 0 || e.t.Before(a.places[len(a.places)-1].t) {
				continue
			}
			a.places = append(a.places, place{e.t, position{part: i, volume: v, off: e.off, last: e.t}})
		}
	}
}

// seek goes to the place with that number, or to one before it if there is no record.
func (c *cursor) seek(i int) (at int) {
	for ; i > 0; i-- {
		if err := c.move(c.a.places[i].position); err == nil && (c.of == nil || c.frames.atRecord()) {
			return i
		}
	}
	_ = c.move(position{})
	return 0
}
