package main

import (
	"context"
	"errors"
	"strings"

	"pmdaderived/derived/syntax"
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
			if n := syntax.Slips(part, c.Name, least); n < least || n == least && best == "" {
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
