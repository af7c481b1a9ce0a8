// Package rig is what the programs are made of that measure the daemon under load, beside private pmcds: bench
// (how fast, beside C) and soak (everything at once, how fresh values are, and whether every value is right). They are
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
// One function and one entry: the function measures and returns a [Row] ([Times], [FigureRow], [Equal], [AtMost], [Some],
// or one written by hand), and a [Part] in the program's list has it run. What an agent says wrongly is a row
// of package liar; what a metric is, a line of [Metrics].
//
// # Where the truth comes from
//
// The operands are those of an agent whose values are functions of the time of day at which pmcd asked for
// them, and of nothing else; so a value says by itself when it was taken, to the microsecond.
package rig
