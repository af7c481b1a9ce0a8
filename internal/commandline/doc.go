// Package commandline has what the daemon and the sub-commands have in common: how a command line is read, usage texts,
// values of options, exit codes, and defaults.
//
//	flags := commandline.NewFlags()
//	flags.Func("pmcd", "contact the pmcd at the address `SPEC`", commandline.Address(&pmcd))
//	operands, err := commandline.Parse(flags, args)      // pflag.ErrHelp: print commandline.Usage
package commandline
