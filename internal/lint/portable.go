package lint

import (
	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Understood returns which libpcp supports a part of a definition.
func Understood(s syntax.Support) string {
	switch s {
	case syntax.PCP63:
		return "libpcp supports it since PCP 6.3"
	case syntax.PCP7:
		return "libpcp supports it since PCP 7.2"
	case syntax.Everywhere, syntax.Nowhere:
	}
	return "no libpcp supports it: clients that compute the definition themselves refuse it"
}

// checkPortable warns of syntax and units that libpcp does not support: clients that load the file compute the
// definition themselves, and refuse it.
func (l *linter) checkPortable(d *derived.Definition) {
	if l.Portable == nil {
		return
	}
	syntax.Unportable(d.Expr, d.Text, func(span syntax.Span, part string, s syntax.Support) {
		l.warnPortable(span.Start, part, s)
	})
	syntax.Walk(d.Expr, func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.Name:
			if l.byName[e.Name] != nil && (l.Catalog == nil || !l.exists(e.Name)) {
				l.warnPortable(start(e), "the definition "+e.Name+" as an operand", syntax.Nowhere)
			}
		case *syntax.Call:
			if unit := e.Literal(); unit != nil && unit.Kind == syntax.Units {
				l.checkExtraUnits(unit, unit.Text)
			}
			for t := range e.Tags {
				if t.Key == "units" {
					l.checkExtraUnits(t, t.Value)
				}
			}
		}
		return true
	})
}

// checkExtraUnits warns of units that libpcp has only since PCP 7.2.
func (l *linter) checkExtraUnits(e syntax.Expr, text string) {
	if units, _, err := pdu.ParseUnits(text); err == nil && units.Extra != pdu.ExtraNone {
		l.warnPortable(start(e), "the unit "+units.String(), syntax.PCP7)
	}
}

// warnPortable warns of a part that needs support s, if Options.Portable asks for more.
func (l *linter) warnPortable(offset int, part string, s syntax.Support) {
	if l.Portable != nil && s > l.Portable(l.current) {
		l.warn(NotPortable, offset, part+": "+Understood(s))
	}
}
