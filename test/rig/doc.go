// Package rig has the parts of two programs that measure the daemon under load, on private pmcds: bench (how fast it
// is, beside C) and soak (everything at once, how old values are, and whether every value is right). Both are
// sub-commands of one program, cmd/rig.
//
//	folder, err := rig.NewFolder(map[string]string{"pmdaderived": daemon, "wave": ownProgram})
//	agent := rig.AgentSpec{Name: "wave", Domain: 400, Lies: rig.None}.In(folder)
//	client, err := rig.Open(ctx, pmcd, "derived.a", "derived.b")
//	err = client.FetchAt(ctx, rig.Every(time.Second), func(f rig.Fetched) bool { … })
//	figures, err := rig.ReadFigures(ctx, pmcd, "derived.control.upstream.fetches")
//	table, err := rig.Run(ctx, log, only, []rig.Part{{Name: "idle", Run: idle}})
//
// # A new row
//
// One function and one entry: the function measures and returns a [Row] ([Times], [FigureRow], [Equal], [AtMost],
// [Some], or one written by hand), and a [Part] in the program's list runs it. A new wrong answer of an agent is a
// row of package liar; a new metric is a line of [Metrics].
//
// # How the right values are known
//
// The operands are those of an agent whose values are functions of the time of day of pmcd's request, and of nothing
// else. So a value tells when it was sampled, to the microsecond.
package rig
