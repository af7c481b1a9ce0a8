package main

import (
	"context"
	"errors"
	"strings"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// suggester finds metrics of a pmcd whose names are almost those that somebody wrote.
type suggester struct {
	conn     *pmapi.Conn
	children map[string][]pmapi.Child
}

func newSuggester(conn *pmapi.Conn) *suggester {
	return &suggester{conn: conn, children: map[string][]pmapi.Child{}}
}

// of gives the metric with the most similar name: each component may differ in few letters. It is "" if none is similar,
// or if there is one of that very name.
func (s *suggester) of(ctx context.Context, name string) string {
	prefix := ""
	parts := strings.Split(name, ".")
	for i, part := range parts {
		children, err := s.below(ctx, prefix)
		if err != nil {
			return ""
		}
		best, least := "", 1+len(part)/3
		for _, c := range children {
			if c.Leaf != (i == len(parts)-1) {
				continue
			}
			if n := distance(part, c.Name, least); n < least || n == least && best == "" {
				best, least = c.Name, n
			}
		}
		if best == "" {
			return ""
		}
		prefix = strings.TrimPrefix(prefix+"."+best, ".")
	}
	if prefix == name {
		return ""
	}
	return prefix
}

func (s *suggester) below(ctx context.Context, name string) ([]pmapi.Child, error) {
	if known, ok := s.children[name]; ok {
		return known, nil
	}
	children, err := s.conn.Children(ctx, name)
	if err != nil && !errors.Is(err, pdu.ErrName) {
		return nil, err
	}
	s.children[name] = children
	return children, nil
}

// distance is how many letters must be put in, left out or exchanged to make one word of another, two neighbours
// that have changed places counting as one; most+1 if it is more than most.
func distance(x, y string, most int) int {
	if len(x)-len(y) > most || len(y)-len(x) > most {
		return most + 1
	}
	var before, above []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(x) {
		before, above = above, row
		row = make([]int, len(y)+1)
		row[0] = i + 1
		for j := range len(y) {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return min(row[len(y)], most+1)
}
