package control

import (
	"iter"
	"strings"
	"time"

	"pmdaderived/pdu"
)

// Source is what the metrics are read from. The sequences belong to the goroutine of the request loop.
type Source struct {
	Version string
	Digest  func() string // of what is served
	Figures *Figures

	Definitions iter.Seq[*Definition] // an element is valid until the next one
	Files       iter.Seq[*File]
	Agents      iter.Seq[*Agent]
}

// Definition has the values of one definition.
type Definition struct {
	pdu.Instance
	State   string        // one of the words in the help text of definition.state
	Problem func() string // returns why it is not served as written or lacks values; "": neither
	Text    string        // the expression
	PMID    pdu.PMID
	Sampled func() time.Time // returns the time of the newest sample of its operands; zero: there is none
	Fetched time.Time        // when it was last computed for a client; zero: never
	Values  int              // number of values that it had then
	Time    time.Duration    // of all evaluations
	Memory  int              // bytes of the values that its functions over time retain
}

// File has the values of one definition file.
type File struct {
	pdu.Instance        // the name is the path
	Error        string // why the file was not read completely; "": it was
	Definitions  int    // number of definitions that were read
	Failed       int    // number of definitions that could not be read
	Bound        int    // number of definitions that are served
}

// state returns the value of file.state.
func (f *File) state() string {
	switch {
	case f.Error != "":
		return "unread"
	case f.Failed > 0:
		return "failed"
	}
	return "read"
}

// Agent has the values of one agent of operands.
type Agent struct {
	pdu.Instance        // the number is the domain
	Errors       uint64 // operands with an error instead of values
	Error        string // the last error; "": there was none
}

// instanceMetrics returns the metrics with one value for each definition, file or agent.
func instanceMetrics(s *Source) []Metric {
	definitions := func(add func(*Values, *Definition)) Content {
		return perInstance(definitionSerial, s.Definitions, add)
	}
	files := func(add func(*Values, *File)) Content { return perInstance(fileSerial, s.Files, add) }
	agents := func(add func(*Values, *Agent)) Content { return perInstance(agentSerial, s.Agents, add) }
	counter := Shape{pdu.TypeU64, pdu.SemCounter, pdu.Units{Count: 1}}
	word := Shape{pdu.TypeString, pdu.SemDiscrete, pdu.Units{}}
	number := Shape{pdu.TypeU32, pdu.SemInstant, pdu.Units{Count: 1}}
	millis := Shape{pdu.TypeDouble, pdu.SemInstant, pdu.Units{Time: 1, TimeScale: pdu.TimeMillisec}}
	return []Metric{
		{
			Item: 20, Name: "definition.state", Shape: word,
			Short: "state of each definition: bound, kept, unbound, failed or waiting",
			Long: "bound    it is served\nkept     its new text is wrong or unread; an earlier one is served\n" +
				"unbound  a metric that it uses does not exist on this host\nfailed   it is wrong\n" +
				"waiting  the metrics that it uses have not been looked up yet",
			Content: definitions(func(v *Values, d *Definition) { v.text(d.ID, d.State) }),
		},
		{
			Item: 21, Name: "definition.error", Shape: word,
			Short: "reason why a definition is not served as written or lacks values; empty if there is none",
			Long: "For a definition that is served, the reason is an operand without values (even if the definition\n" +
				"has values without it), an agent that is not sampled now because it is slow, that the agent has\n" +
				"no connection to pmcd, an instance that is no bucket of a histogram, or why the newest result has no\n" +
				"values. A definition that is unbound because this host lacks a metric is no error.",
			Content: definitions(func(v *Values, d *Definition) { v.text(d.ID, d.Problem()) }),
		},
		{
			Item: 22, Name: "definition.expression", Shape: word,
			Short:   "expression of each definition",
			Content: definitions(func(v *Values, d *Definition) { v.text(d.ID, strings.TrimSpace(d.Text)) }),
		},
		{
			Item: 23, Name: "definition.pmid", Shape: word,
			Short:   "metric identifier of each definition",
			Content: definitions(func(v *Values, d *Definition) { v.text(d.ID, d.PMID.String()) }),
		},
		{
			Item: 24, Name: "definition.age", Shape: millis,
			Short:   "age of the newest sample for each definition",
			Content: definitions(func(v *Values, d *Definition) { v.since(d.ID, d.Sampled()) }),
		},
		{
			Item: 25, Name: "definition.evaluated", Shape: millis,
			Short:   "time since each definition was last computed for a client",
			Long:    "Definitions that no client has fetched have no value.",
			Content: definitions(func(v *Values, d *Definition) { v.since(d.ID, d.Fetched) }),
		},
		{
			Item: 26, Name: "definition.values", Shape: number,
			Short: "number of values of each definition when it was last computed for a client",
			Long:  "Definitions that no client has fetched have no value.",
			Content: definitions(func(v *Values, d *Definition) {
				if !d.Fetched.IsZero() {
					v.number(d.ID, uint64(d.Values))
				}
			}),
		},
		{
			Item: 64, Name: "definition.time",
			Shape: Shape{pdu.TypeU64, pdu.SemCounter, pdu.Units{Time: 1, TimeScale: pdu.TimeNanosec}},
			Short: "time that the agent has taken to evaluate each definition, for clients and for functions over time",
			Long: "It is the time that passes, in which an evaluation waits for nothing but a CPU. Short evaluations are\n" +
				"not measured each time. An expression that several definitions share counts for the first of them,\n" +
				"a function over time for all of them.",
			Content: definitions(func(v *Values, d *Definition) { v.number(d.ID, uint64(d.Time)) }),
		},
		{
			Item: 65, Name: "definition.memory", Shape: Shape{pdu.TypeU64, pdu.SemInstant, pdu.Units{Space: 1}},
			Short:   "memory that the functions over time of each definition need for their values",
			Long:    "A function over time that several definitions share counts for all of them.",
			Content: definitions(func(v *Values, d *Definition) { v.number(d.ID, uint64(d.Memory)) }),
		},
		{
			Item: 41, Name: "file.state", Shape: word,
			Short: "state of each definition file: read, failed or unread",
			Long: "read     it was read completely\n" +
				"failed   it was read completely, and has mistakes: see derived.control.definition.error\n" +
				"unread   it was not read completely: see derived.control.file.error",
			Content: files(func(v *Values, f *File) { v.text(f.ID, f.state()) }),
		},
		{
			Item: 42, Name: "file.error", Shape: word,
			Short:   "reason why a definition file was not read completely; empty if it was",
			Long:    "Its earlier definitions are still served.",
			Content: files(func(v *Values, f *File) { v.text(f.ID, f.Error) }),
		},
		{
			Item: 43, Name: "file.definitions", Shape: number,
			Short:   "number of definitions that the agent has read from each file",
			Content: files(func(v *Values, f *File) { v.number(f.ID, uint64(f.Definitions)) }),
		},
		{
			Item: 62, Name: "file.bound", Shape: number,
			Short: "number of definitions in each file that are served",
			Long: "The others are wrong, need metrics that this host does not have, or a later file has a definition\n" +
				"of the same name.",
			Content: files(func(v *Values, f *File) { v.number(f.ID, uint64(f.Bound)) }),
		},
		{
			Item: 53, Name: "upstream.agent.errors", Shape: counter,
			Short:   "number of times that an operand of each agent had an error instead of values",
			Content: agents(func(v *Values, a *Agent) { v.number(a.ID, a.Errors) }),
		},
		{
			Item: 56, Name: "upstream.agent.error", Shape: word,
			Short:   "last operand of each agent with an error, and the error; empty if there was none",
			Content: agents(func(v *Values, a *Agent) { v.text(a.ID, a.Error) }),
		},
	}
}
