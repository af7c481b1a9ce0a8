package config

// The limits of a load. They are far above what people write. They keep a wrong file or path from taking all memory.
const (
	MaxFileSize      = 16 << 20 // bytes of one file
	MaxTotalSize     = 64 << 20 // bytes of all files of a load
	MaxFiles         = 10_000   // files of a load
	MaxDepth         = 32       // levels of directories
	MaxLine          = 1 << 20  // bytes of a line with its continuations, and of a quoted text
	MaxContinuations = 10_000   // physical lines that continue one line
	MaxDefinitions   = 100_000  // definitions of a load
	MaxName          = 1016     // bytes of a name: with "derived." 1,024. PCP's tools abort at names of some 4,000 bytes
	MaxProblems      = 10_000   // problems reported per file
	MaxMarks         = 10_000   // names that a file masks, and its control lines, together
	MaxLabels        = 200      // labels of a definition
	MaxLabelText     = 32 << 10 // bytes of these labels as JSON
	maxShown         = 2000     // bytes of a source line in a message
	maxNames         = 10       // names in a message
	maxOthers        = 100      // entries of other users that are reported per directory
)
